// Tests that wait for compilers use the two processors that a machine has at least.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>

namespace tilewright::testing {

// Runs `job(i)` for i < count on two threads, and throws what one of them threw.
template <class F>
void for_each_on_two_threads(size_t count, const F& job) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        job(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace tilewright::testing
