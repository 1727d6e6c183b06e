#include "fuzz/crash_report.h"

#include <fmt/format.h>

#include <csignal>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace tilewright::fuzz {

namespace {

constexpr const char* kVariable = "TILEWRIGHT_FUZZ_CRASHED";
constexpr size_t kMaxThreads = 64, kTextBytes = 1024;
// Batches take seconds; a machine may be busy.
constexpr auto kTimeLimit = std::chrono::minutes(15);

struct Running {
  std::array<char, kTextBytes> seeds;  // "12 13 14"
  std::array<char, 64> what;
  std::atomic<std::chrono::steady_clock::rep> since = 0;  // 0: nothing
};
std::array<Running, kMaxThreads> running;
std::atomic<size_t> num_threads = 0;
thread_local Running* running_here = nullptr;

template <size_t kBytes>
void assign(std::array<char, kBytes>& to, std::string_view text) {
  const size_t count = text.copy(to.data(), kBytes - 1);
  to[count] = '\0';
}

void print(const char* text) { [[maybe_unused]] const ssize_t n = write(2, text, std::strlen(text)); }

// In a signal handler: nothing is allocated here. The same program, without its other tests.
void start_again(int signal) {
  static std::array<char, kMaxThreads * kTextBytes> crashed;
  size_t used = size_t(stpcpy(crashed.data(), kVariable) - crashed.data());
  crashed[used++] = '=';
  print("\ncrashed or hung; was running:\n");
  for (const Running& r : running) {
    if (r.since.load() == 0) continue;
    for (const char* text : {r.what.data(), ": seeds ", r.seeds.data(), "\n"}) print(text);
    const size_t length = std::strlen(r.seeds.data());
    if (used + length + 2 > crashed.size()) continue;
    std::memcpy(crashed.data() + used, r.seeds.data(), length);
    used += length;
    crashed[used++] = ' ';
  }
  crashed[used] = '\0';
  static char program[] = "test_fuzz", filter[] = "--gtest_filter=RandomPrograms.SeedsThatCrash";
  static std::array<char*, 3> arguments = {program, filter, nullptr};
  static std::array<char*, 512> environment;
  size_t count = 0;
  for (char** at = environ; *at != nullptr && count + 2 < environment.size(); ++at) environment[count++] = *at;
  environment[count] = crashed.data();
  execve("/proc/self/exe", arguments.data(), environment.data());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    for (const Running& r : running) {
      const std::chrono::steady_clock::duration since(r.since.load());
      if (since.count() != 0 && now - since > kTimeLimit) std::abort();
    }
  }
}

// A handler needs a stack of its own where the thread's is used up. The address sanitizer has given each thread one,
// which it takes back at the thread's end.
void give_stack() {
#if !defined(__SANITIZE_ADDRESS__)
  static constexpr size_t kBytes = 64 << 10;
  thread_local std::array<char, kBytes> memory;
  const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = kBytes};
  sigaltstack(&stack, nullptr);
#endif
}

}  // namespace

void catch_crashes() {
  static const bool once = [] {
    struct sigaction action = {};
    action.sa_handler = start_again;
    action.sa_flags = SA_NODEFER | SA_ONSTACK;  // a blocked signal would stay blocked in the program that follows
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
    std::thread(watch).detach();
    return true;
  }();
  (void)once;
}

void set_running(std::string_view what, std::span<const uint64_t> seeds) {
  if (running_here == nullptr) {
    running_here = &running[num_threads.fetch_add(1) % kMaxThreads];
    give_stack();
  }
  running_here->since = 0;
  if (seeds.empty()) return;
  assign(running_here->what, what);
  assign(running_here->seeds, fmt::format("{}", fmt::join(seeds, " ")));
  running_here->since = std::chrono::steady_clock::now().time_since_epoch().count();
}

std::vector<uint64_t> seeds_of_the_crash() {
  const char* text = std::getenv(kVariable);
  std::vector<uint64_t> seeds;
  const std::string_view all = text ? text : "";
  for (const char* at = all.data(); at != all.data() + all.size();) {
    uint64_t seed = 0;
    const auto [end, error] = std::from_chars(at, all.data() + all.size(), seed);
    if (error == std::errc()) seeds.push_back(seed);
    at = end == at ? at + 1 : end;
  }
  return seeds;
}

}  // namespace tilewright::fuzz
