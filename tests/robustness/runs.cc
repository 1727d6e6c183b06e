#include "robustness/program_check.h"

#include <tilewright/error.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <stdexcept>

namespace tilewright::robustness {

namespace {

// A process with a sanitizer takes some 0.1 s to start.
constexpr size_t kRunsPerProcess = 32;
constexpr int64_t kRunMilliseconds = 500;

enum Ending : int { kNone, kDone, kError, kLong, kCrash, kWrongException };

// What the process that runs writes and the one that waits reads.
struct Progress {
  std::atomic<int> current;
  std::array<std::atomic<int>, kRunsPerProcess> endings;
};

Progress& progress() {
  static Progress* const shared = [] {
    void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    return new (memory) Progress{};
  }();
  return *shared;
}

Ending ending_of(const std::function<void()>& run) {
  try {
    run();
    return kDone;
  } catch (const std::exception& e) {
    const std::string wrong = check_refusal(e, false);
    if (wrong.empty()) return kError;
    std::fprintf(stderr, "%s\n", wrong.c_str());
    return kWrongException;
  }
}

// Waits until the child is gone; ends it where one run takes too long. Whether it had to.
bool wait_for(pid_t child) {
  int seen = -1;
  int64_t waited = 0;
  while (waitpid(child, nullptr, WNOHANG) != child) {
    usleep(1000);
    const int current = progress().current;
    waited = current == seen ? waited + 1 : 0;
    seen = current;
    if (waited < kRunMilliseconds) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return true;
  }
  return false;
}

}  // namespace

void Runs::add(std::string what, std::function<void()> run) {
  runs_.push_back({std::move(what), std::move(run)});
  if (runs_.size() == kRunsPerProcess) flush();
}

void Runs::take(size_t number, int ending) {
  switch (ending) {
    case kDone: ++tally_.ran; break;
    case kError: ++tally_.failed; break;
    case kLong: ++tally_.long_runs; break;
    case kWrongException: failures_.push_back(runs_[number].what + ": an exception that is no clear Error"); break;
    default: failures_.push_back(runs_[number].what + ": a crash");
  }
}

void Runs::flush() {
  for (std::atomic<int>& ending : progress().endings) ending = kNone;
  size_t first = 0;
  while (first < runs_.size()) {
    progress().current = int(first);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process can be started");
    if (child == 0) {
      alarm(0);
      for (size_t i = first; i < runs_.size(); ++i) {
        progress().current = int(i);
        progress().endings[i] = ending_of(runs_[i].run);
      }
      _exit(0);
    }
    const bool stopped = wait_for(child);
    const auto last = size_t(progress().current);
    if (progress().endings[last] == kNone) progress().endings[last] = stopped ? kLong : kCrash;
    first = last + 1;
  }
  for (size_t i = 0; i < runs_.size(); ++i) take(i, progress().endings[i]);
  runs_.clear();
}

const std::vector<std::string>& Runs::finish() {
  flush();
  alarm(0);  // the last case is over
  return failures_;
}

}  // namespace tilewright::robustness
