#include "runtime/process.h"

#include "runtime/owned_fd.h"
#include "support/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

void check(int error, std::string_view what) {
  if (error != 0) throw toolchain_error("{}: {}", what, std::strerror(error));
}

struct SpawnActions {
  posix_spawn_file_actions_t value;
  SpawnActions() { check(posix_spawn_file_actions_init(&value), "posix_spawn_file_actions_init"); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&value); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

struct SpawnAttributes {
  posix_spawnattr_t value;
  SpawnAttributes() { check(posix_spawnattr_init(&value), "posix_spawnattr_init"); }
  ~SpawnAttributes() { posix_spawnattr_destroy(&value); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
};

void plan_descriptors(posix_spawn_file_actions_t* actions, int output, const std::filesystem::path& working_dir) {
  check(posix_spawn_file_actions_adddup2(actions, output, 1), "dup2");
  check(posix_spawn_file_actions_adddup2(actions, output, 2), "dup2");
  check(posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0), "open /dev/null");
#if __GLIBC_PREREQ(2, 34)
  // Our own descriptors are close-on-exec; this one is for those of the application around us.
  check(posix_spawn_file_actions_addclosefrom_np(actions, 3), "closefrom");
#endif
  if (!working_dir.empty()) check(posix_spawn_file_actions_addchdir_np(actions, working_dir.c_str()), "chdir");
}

void plan_signals(posix_spawnattr_t* attributes) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  check(posix_spawnattr_setsigdefault(attributes, &all), "setsigdefault");
  check(posix_spawnattr_setsigmask(attributes, &none), "setsigmask");
  check(posix_spawnattr_setpgroup(attributes, 0), "setpgroup");
  check(posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP),
        "setflags");
}

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::vector<std::string> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(options.environment.begin(), options.environment.end(),
                                      [&](const auto& change) { return change.first == name; });
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : options.environment) {
    if (value) out.push_back(name + "=" + *value);
  }
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

pid_t start(const ProcessOptions& options, int output) {
  SpawnActions actions;
  SpawnAttributes attributes;
  plan_descriptors(&actions.value, output, options.working_dir);
  plan_signals(&attributes.value);
  std::vector<std::string> arguments = options.command;
  std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(environment);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions.value, &attributes.value, argv.data(), envp.data());
  if (error != 0) throw toolchain_error("cannot start {}: {}", options.command[0], std::strerror(error));
  return pid;
}

// Readable once the process has ended; -1 on kernels before 5.3, where the end of its output has to do.
int open_pid(pid_t pid) {
#ifdef SYS_pidfd_open
  return int(::syscall(SYS_pidfd_open, pid, 0));
#else
  return -1;
#endif
}

// Takes what is in the pipe now; false at its end.
bool drain(int fd, size_t limit, ProcessResult& result) {
  std::array<char, 16384> buffer;
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    const size_t taken = std::min(size_t(count), limit - std::min(limit, result.output.size()));
    result.output.append(buffer.data(), taken);
    if (taken < size_t(count)) result.output_truncated = true;
  }
}

int wait_ms(const std::optional<Clock::time_point>& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
  return int(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

// Reads until the process has ended. A grandchild that keeps the pipe open does not hold us up.
void collect(pid_t pid, int output, const ProcessOptions& options, ProcessResult& result) {
  std::optional<Clock::time_point> deadline;
  if (options.timeout) deadline = Clock::now() + *options.timeout;
  const OwnedFd ended(open_pid(pid));
  // poll ignores a negative descriptor: that of the pipe at its end, that of the process where it has none.
  std::array<pollfd, 2> fds = {pollfd{output, POLLIN, 0}, pollfd{ended.get(), POLLIN, 0}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const int ready = ::poll(fds.data(), fds.size(), wait_ms(deadline));
    if (ready < 0 && errno != EINTR) throw toolchain_error("poll: {}", std::strerror(errno));
    if (ready < 0) continue;
    if (ready == 0) {
      result.timed_out = true;
      ::kill(-pid, SIGKILL);
      return;
    }
    if (fds[0].revents != 0 && !drain(output, options.max_output_bytes, result)) fds[0].fd = -1;
    if (fds[1].revents != 0) {
      drain(output, options.max_output_bytes, result);
      return;
    }
  }
}

void wait_for_end(pid_t pid, const std::string& program, ProcessResult& result) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno == EINTR) continue;
    throw toolchain_error("the exit status of {} is lost: {}", program, std::strerror(errno))
        .hint("the application ignores SIGCHLD or waits for every child; it must leave Tilewright's to Tilewright");
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
}

}  // namespace

std::string ProcessResult::describe() const {
  if (timed_out) return "time limit exceeded";
  if (signal != 0) return fmt::format("signal {} ({})", signal, sigdescr_np(signal) ? sigdescr_np(signal) : "?");
  return fmt::format("exit code {}", exit_code);
}

ProcessResult run_process(const ProcessOptions& options) {
  if (options.command.empty() || options.command[0].empty()) throw internal_error({}, "run_process without a program");
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw toolchain_error("pipe: {}", std::strerror(errno));
  const OwnedFd output(ends[0]);
  OwnedFd input(ends[1]);
  ProcessResult result;
  const pid_t pid = start(options, input.get());
  input.reset();
  ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
  try {
    collect(pid, output.get(), options, result);
  } catch (...) {  // leave no process behind that nobody waits for
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    throw;
  }
  wait_for_end(pid, options.command[0], result);
  return result;
}

}  // namespace tilewright
