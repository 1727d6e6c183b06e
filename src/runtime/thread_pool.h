// The threads that run the blocks of CPU kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>

namespace tilewright {

// A call of `fn(task_index, worker_index)` without owning it: a std::function would allocate on every launch.
class TaskRef {
 public:
  template <class Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, TaskRef>)
      TaskRef(Function&& fn)  // NOLINT(google-explicit-constructor): made at the call
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(fn)))),
        call_([](void* object, int64_t task, int worker) {
          (*static_cast<std::remove_reference_t<Function>*>(object))(task, worker);
        }) {}
  void operator()(int64_t task, int worker) const { call_(object_, task, worker); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int);
};

class ThreadPool {
 public:
  // `num_threads` counts the caller, which works as worker 0; 0: one per usable core. Threads start with the first call
  // that needs them.
  explicit ThreadPool(int num_threads = 0);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int num_threads() const { return num_threads_; }

  // Runs fn for every task in [0, num_tasks) and returns when all are done. `worker_index` is in [0, num_threads) and
  // no two tasks of the call that run at the same time have the same. Tasks are handed out in increasing order, `chunk`
  // at a time (0: about sixteen pieces per thread).
  //
  // - No task, one task, or one thread: runs in the caller and wakes nobody.
  // - From inside a task of any pool: runs serially in that thread, in order.
  // - From several threads: one call after the other.
  // - A task that throws stops the handing out; the exception of the lowest task index among those thrown is rethrown
  // here.
  // - In the child of a fork the threads are started anew. A child forked inside a task must not return from that task.
  void parallel_for(int64_t num_tasks, TaskRef fn, int64_t chunk = 1);

  // Puts the workers to sleep now instead of after their spinning time, and returns when they sleep, so that they take
  // no time from what is measured next. The next call wakes them.
  void park();

 private:
  struct Workers;
  Workers* workers();

  int num_threads_;
  std::atomic<Workers*> workers_{nullptr};
};

// The pool of CPU launches, started by the first call: the one process-wide object of the run time, because threads are
// a resource of the process. `num_threads` 0 takes the pool as it is (or one per usable core when it starts); another
// number gives the pool of that size, which lives to the end of the process like every pool once given out.
ThreadPool& default_thread_pool(int num_threads = 0);

}  // namespace tilewright
