#include "runtime/process.h"

#include "runtime/test_folder.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace tilewright {
namespace {

using namespace std::chrono_literals;

ProcessResult shell(const std::string& script) { return run_process({.command = {"/bin/sh", "-c", script}}); }

TEST(Process, collects_output_and_exit_code) {
  const ProcessResult result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.describe(), "exit code 3");
  EXPECT_TRUE(shell("true").ok());
}

TEST(Process, arguments_are_not_words_of_a_shell) {
  const std::string odd = "a b; $(touch /tmp/x) `id` \"'*\n|&";
  EXPECT_EQ(run_process({.command = {"printf", "%s", odd}}).output, odd);
}

TEST(Process, standard_input_is_empty) { EXPECT_EQ(shell("cat; echo end").output, "end\n"); }

TEST(Process, folder_and_environment) {
  const ProcessResult result = run_process({.command = {"/bin/sh", "-c", "pwd; echo $ONE; echo ${HOME-unset}"},
                                            .working_dir = "/usr",
                                            .environment = {{"ONE", "1 2"}, {"HOME", std::nullopt}}});
  EXPECT_EQ(result.output, "/usr\n1 2\nunset\n");
}

TEST(Process, signal) {
  const ProcessResult result = shell("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.describe(), "signal 11 (Segmentation fault)");
}

// Gone, or dead and not yet collected by init.
bool is_dead(const std::string& pid) {
  const std::string stat = test::read_text("/proc/" + pid + "/stat");
  return stat.empty() || stat.find(") Z ") != std::string::npos;
}

TEST(Process, time_limit_kills_the_whole_group) {
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result =
      run_process({.command = {"/bin/sh", "-c", "sleep 100 & echo $!; sleep 100"}, .timeout = 200ms});
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.describe(), "time limit exceeded");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  const std::string grandchild = result.output.substr(0, result.output.find('\n'));
  for (int i = 0; i < 400 && !is_dead(grandchild); ++i) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(is_dead(grandchild));
}

TEST(Process, a_grandchild_with_the_pipe_does_not_hold_us_up) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(shell("echo done; sleep 3 & exit 0").output, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

TEST(Process, much_output) {
  const ProcessResult all = shell("head -c 3000000 /dev/zero");
  EXPECT_EQ(all.output.size(), 3000000u);
  EXPECT_FALSE(all.output_truncated);
  const ProcessResult some =
      run_process({.command = {"/bin/sh", "-c", "head -c 3000000 /dev/zero"}, .max_output_bytes = 1000});
  EXPECT_EQ(some.output.size(), 1000u);
  EXPECT_TRUE(some.output_truncated && some.ok());
}

TEST(Process, a_program_that_is_not_there) {
  try {
    run_process({.command = {"/no/such/program"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::toolchain);
    EXPECT_EQ(error.message(), "cannot start /no/such/program: No such file or directory");
  }
  EXPECT_THROW(run_process({.command = {"true"}, .working_dir = "/no/such/folder"}), Error);
  EXPECT_THROW(run_process({.command = {}}), Error);
}

TEST(Process, no_descriptor_of_ours_is_passed_on) {
  const int leak = ::open("/dev/null", O_RDONLY);  // not close-on-exec, as an application might do
  ASSERT_GE(leak, 3);
  const ProcessResult result = shell("ls /proc/self/fd | tr '\\n' ' '");
  ::close(leak);
  EXPECT_EQ(result.output, "0 1 2 3 ");  // 3 is ls reading the folder
}

TEST(Process, blocked_signals_and_ignored_ones_are_not_inherited) {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  const ProcessResult result = shell("kill -TERM $$; echo survived");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(result.signal, SIGTERM);
}

TEST(Process, many_threads) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string text = std::to_string(t * 100 + i);
        if (run_process({.command = {"printf", "%s", text}}).output != text) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tilewright
