#include "runtime/thread_pool.h"

#include "runtime/cpu_features.h"
#include "support/error.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// Waking a sleeping thread costs tens of microseconds, so that a worker looks out for the next launch this long before
// it sleeps. Longer than the gap between launches of one program, shorter than what a user notices as load.
constexpr std::chrono::microseconds kSpinTime{60};
constexpr int kPiecesPerThread = 16;

// `state`: the number of the current job in the upper half, whether it takes workers, and how many work on it.
constexpr uint64_t kOneWorker = 1;
constexpr uint64_t kWorkerMask = 0xffff;
constexpr uint64_t kOpen = uint64_t(1) << 16;
constexpr uint64_t kOneJob = uint64_t(1) << 32;
constexpr uint64_t job_number(uint64_t state) { return state / kOneJob; }

thread_local bool inside_task = false;

struct InsideTask {
  InsideTask() { inside_task = true; }
  ~InsideTask() { inside_task = false; }
};

void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Spins until `done()` or the time is over; whether it is done.
template <class Done>
bool spin(std::chrono::microseconds time, const Done& done) {
  if (done()) return true;
  if (time.count() == 0) return false;
  const auto end = Clock::now() + time;
  do {
    for (int i = 0; i < 32; ++i) {
      cpu_relax();
      if (done()) return true;
    }
  } while (Clock::now() < end);
  return false;
}

std::atomic<uint64_t> num_forks{0};

void count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { num_forks.fetch_add(1); });
  if (registered != 0) throw toolchain_error("pthread_atfork failed");
}

}  // namespace

// The threads and the one job they share. All atomics are sequentially consistent: whether somebody sleeps and whether
// there is something to do are two variables that both sides write and then read the other's.
struct ThreadPool::Workers {
  Workers(int num_workers, bool may_spin);
  ~Workers();

  void run(int64_t num_tasks, TaskRef fn, int64_t chunk);
  void park();

  const uint64_t fork_number = num_forks.load();

 private:
  void work(int worker);
  void start_threads();
  std::optional<uint64_t> wait_for_job(uint64_t last_job);
  bool join(uint64_t job);
  void take_tasks(int worker);
  void record(int64_t task, std::exception_ptr error);
  void leave();
  void wait_for_workers();

  const int num_workers;  // without the caller
  const std::chrono::microseconds spin_time;
  std::mutex calls;  // one job at a time
  std::vector<std::thread> threads;

  // The job. Written while closed and without workers, read by those who joined.
  const TaskRef* fn = nullptr;
  int64_t num_tasks = 0;
  int64_t chunk = 1;
  std::mutex error_mutex;
  std::exception_ptr error;
  int64_t error_task = 0;

  alignas(64) std::atomic<uint64_t> state{0};
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<int> num_asleep{0};
  std::atomic<bool> parked{false};
  std::atomic<bool> stopping{false};
  std::atomic<bool> caller_asleep{false};
  std::mutex sleep_mutex;
  std::condition_variable job_posted, job_left;
};

ThreadPool::Workers::Workers(int num_workers_, bool may_spin)
    : num_workers(num_workers_), spin_time(may_spin ? kSpinTime : std::chrono::microseconds(0)) {}

ThreadPool::Workers::~Workers() {
  stopping = true;
  {
    const std::lock_guard lock(sleep_mutex);
    job_posted.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

// Where the system has no more threads we go on with fewer: the caller alone can do all the work.
void ThreadPool::Workers::start_threads() {
  if (!threads.empty()) return;
  threads.reserve(size_t(num_workers));
  for (int worker = 1; worker <= num_workers; ++worker) {
    try {
      threads.emplace_back([this, worker] { work(worker); });
    } catch (const std::system_error&) {
      return;
    }
  }
}

void ThreadPool::Workers::work(int worker) {
  inside_task = true;
  uint64_t last_job = 0;
  while (const auto job = wait_for_job(last_job)) {
    last_job = *job;
    if (!join(last_job)) continue;
    take_tasks(worker);
    leave();
  }
}

// The number of a job other than the last, or nothing when the pool ends.
std::optional<uint64_t> ThreadPool::Workers::wait_for_job(uint64_t last_job) {
  const auto posted = [&] { return stopping.load() || job_number(state.load()) != last_job; };
  spin(spin_time, [&] { return posted() || parked.load(); });
  if (!posted()) {
    std::unique_lock lock(sleep_mutex);
    num_asleep.fetch_add(1);
    job_posted.wait(lock, posted);
    num_asleep.fetch_sub(1);
  }
  if (stopping.load()) return std::nullopt;
  return job_number(state.load());
}

// Late workers find the job closed or gone, and the caller never waits for one that has not joined.
bool ThreadPool::Workers::join(uint64_t job) {
  uint64_t seen = state.load();
  while (job_number(seen) == job && (seen & kOpen) != 0) {
    if (state.compare_exchange_weak(seen, seen + kOneWorker)) return true;
  }
  return false;
}

void ThreadPool::Workers::take_tasks(int worker) {
  while (true) {
    const int64_t begin = next.fetch_add(chunk);
    if (begin >= num_tasks) return;
    for (int64_t task = begin; task < std::min(begin + chunk, num_tasks); ++task) {
      try {
        (*fn)(task, worker);
      } catch (...) {
        record(task, std::current_exception());
        return;
      }
    }
  }
}

void ThreadPool::Workers::record(int64_t task, std::exception_ptr thrown) {
  next.store(num_tasks);
  const std::lock_guard lock(error_mutex);
  if (error && error_task < task) return;
  error = std::move(thrown);
  error_task = task;
}

void ThreadPool::Workers::leave() {
  const uint64_t before = state.fetch_sub(kOneWorker);
  if ((before & kWorkerMask) != 1 || !caller_asleep.load()) return;
  const std::lock_guard lock(sleep_mutex);
  job_left.notify_all();
}

void ThreadPool::Workers::wait_for_workers() {
  state.fetch_and(~kOpen);
  const auto all_left = [&] { return (state.load() & kWorkerMask) == 0; };
  if (spin(spin_time, all_left)) return;
  std::unique_lock lock(sleep_mutex);
  caller_asleep = true;
  job_left.wait(lock, all_left);
  caller_asleep = false;
}

void ThreadPool::Workers::run(int64_t num_tasks_, TaskRef fn_, int64_t chunk_) {
  const std::lock_guard call(calls);
  const InsideTask inside;
  start_threads();
  fn = &fn_, num_tasks = num_tasks_, chunk = chunk_;
  next = 0;
  parked = false;
  state.store((job_number(state.load()) + 1) * kOneJob | kOpen);
  if (num_asleep.load() > 0) {
    const std::lock_guard lock(sleep_mutex);
    job_posted.notify_all();
  }
  take_tasks(0);
  wait_for_workers();
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
}

void ThreadPool::Workers::park() {
  const std::lock_guard call(calls);
  parked = true;
  while (num_asleep.load() < int(threads.size())) std::this_thread::yield();
}

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads > 0 ? num_threads : usable_cores()) {
  if (num_threads < 0 || num_threads > int(kWorkerMask)) {
    throw invalid_argument("a thread pool of {} threads", num_threads).hint(fmt::format("0 to {}", kWorkerMask));
  }
}

// Threads of the parent are no threads of a forked child: their handles and locks are left as they lie.
ThreadPool::~ThreadPool() {
  Workers* const own = workers_.load();
  if (own && own->fork_number == num_forks.load()) delete own;
}

ThreadPool::Workers* ThreadPool::workers() {
  Workers* own = workers_.load();
  while (!own || own->fork_number != num_forks.load()) {
    count_forks();
    // With more threads than cores a spinning one keeps another from working.
    auto fresh = std::make_unique<Workers>(num_threads_ - 1, num_threads_ <= usable_cores());
    if (workers_.compare_exchange_strong(own, fresh.get())) return fresh.release();
  }
  return own;
}

void ThreadPool::parallel_for(int64_t num_tasks, TaskRef fn, int64_t chunk) {
  if (num_tasks <= 0) return;
  if (inside_task || num_tasks == 1 || num_threads_ == 1) {
    for (int64_t task = 0; task < num_tasks; ++task) fn(task, 0);
    return;
  }
  if (chunk <= 0) chunk = std::max<int64_t>(1, num_tasks / (int64_t(num_threads_) * kPiecesPerThread));
  chunk = std::min(chunk, num_tasks);
  workers()->run(num_tasks, fn, chunk);
}

void ThreadPool::park() {
  if (num_threads_ > 1 && !inside_task) workers()->park();
}

ThreadPool& default_thread_pool(int num_threads) {
  // Never destroyed: kernels may still run while static objects end.
  static std::mutex* const mutex = new std::mutex;
  static auto* const pools = new std::map<int, std::unique_ptr<ThreadPool>>;
  static std::atomic<ThreadPool*> first{nullptr};
  // Without the lock: the child of a fork must not find it held by a thread that it does not have.
  if (ThreadPool* const pool = first.load(); pool && (num_threads == 0 || num_threads == pool->num_threads()))
    return *pool;
  const std::lock_guard lock(*mutex);
  const int wanted = num_threads > 0 ? num_threads : usable_cores();
  std::unique_ptr<ThreadPool>& pool = (*pools)[wanted];
  if (!pool) pool = std::make_unique<ThreadPool>(wanted);
  if (first.load() == nullptr) first = pool.get();
  return *pool;
}

}  // namespace tilewright
