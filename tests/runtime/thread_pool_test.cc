#include "runtime/thread_pool.h"

#include "runtime/cpu_features.h"
#include "runtime/test_folder.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <time.h>

#if defined(__SANITIZE_THREAD__)
#define TW_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TW_TEST_TSAN 1
#endif
#endif

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

TEST(ThreadPool, every_task_runs_once) {
  for (const int num_threads : {1, 2, 3, 8}) {
    ThreadPool pool(num_threads);
    for (const int64_t num_tasks : {0, 1, 2, 3, 7, 100, 1001}) {
      for (const int64_t chunk : {0, 1, 3, 5000}) {
        std::vector<std::atomic<int>> runs(static_cast<size_t>(num_tasks));
        std::atomic<int> wrong{0};
        pool.parallel_for(
            num_tasks,
            [&](int64_t task, int worker) {
              ++runs[size_t(task)];
              if (worker < 0 || worker >= num_threads) ++wrong;
            },
            chunk);
        for (const auto& count : runs) EXPECT_EQ(count, 1);
        EXPECT_EQ(wrong, 0);
      }
    }
  }
}

TEST(ThreadPool, plain_writes_of_tasks_are_visible_to_the_caller) {
  ThreadPool pool(4);
  std::vector<int64_t> out(500);
  for (int round = 1; round <= 200; ++round) {
    pool.parallel_for(500, [&](int64_t task, int) { out[size_t(task)] += task * round; });
  }
  for (int64_t task = 0; task < 500; ++task) EXPECT_EQ(out[size_t(task)], task * 200 * 201 / 2);
}

TEST(ThreadPool, worker_indices_are_exclusive) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<int> clashes{0};
  for (int round = 0; round < 50; ++round) {
    pool.parallel_for(64, [&](int64_t, int worker) {
      if (busy[size_t(worker)].fetch_add(1) != 0) ++clashes;
      busy[size_t(worker)].fetch_sub(1);
    });
  }
  EXPECT_EQ(clashes, 0);
}

TEST(ThreadPool, tasks_do_run_in_parallel) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  pool.parallel_for(2, [&](int64_t, int) {  // each waits for the other
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, one_task_runs_in_the_caller) {
  ThreadPool pool(4);
  pool.parallel_for(1, [caller = std::this_thread::get_id()](int64_t task, int worker) {
    EXPECT_EQ(task, 0);
    EXPECT_EQ(worker, 0);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  pool.parallel_for(0, [](int64_t, int) { FAIL(); });
  pool.parallel_for(-5, [](int64_t, int) { FAIL(); });
}

TEST(ThreadPool, nested_calls_run_serially) {
  ThreadPool pool(3), other(2);
  std::atomic<int> wrong{0}, total{0};
  pool.parallel_for(20, [&](int64_t, int) {
    const auto self = std::this_thread::get_id();
    for (ThreadPool* const inner : {&pool, &other}) {
      int64_t expected = 0;
      inner->parallel_for(10, [&](int64_t task, int) {
        if (task != expected++ || std::this_thread::get_id() != self) ++wrong;
        ++total;
      });
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(total, 400);
}

TEST(ThreadPool, exceptions_reach_the_caller) {
  ThreadPool pool(4);
  for (int round = 0; round < 100; ++round) {
    try {
      pool.parallel_for(100, [&](int64_t task, int) {
        if (task % 10 == 7) throw std::runtime_error("task " + std::to_string(task));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "task 7");  // tasks start in order, so the lowest that throws has started
    }
    std::atomic<int> runs{0};
    pool.parallel_for(10, [&](int64_t, int) { ++runs; });
    EXPECT_EQ(runs, 10);
  }
}

TEST(ThreadPool, several_callers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(6);
  for (size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 50; ++round) {
        std::atomic<int64_t> sum{0};
        pool.parallel_for(20, [&](int64_t task, int) { sum += task; });
        sums[c] += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const int64_t sum : sums) EXPECT_EQ(sum, 50 * 190);
}

TEST(ThreadPool, wakes_up_after_sleep_and_park) {
  ThreadPool pool(4);
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::atomic<int> runs{0};
    pool.parallel_for(16, [&](int64_t, int) { ++runs; });
    EXPECT_EQ(runs, 16);
    if (round % 3 == 0) pool.park();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
  }
}

int64_t cpu_time_ns() {
  timespec now;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

TEST(ThreadPool, sleeping_workers_take_no_time) {
  ThreadPool pool(2);
  pool.parallel_for(8, [](int64_t, int) {});
  pool.park();
  const int64_t before = cpu_time_ns();
  std::this_thread::sleep_for(50ms);
  EXPECT_LT(cpu_time_ns() - before, 5000000);
}

TEST(ThreadPool, starts_and_ends_many_times) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(3);
    if (i % 2 == 0) pool.parallel_for(5, [](int64_t, int) {});
  }
}

TEST(ThreadPool, sizes) {
  EXPECT_EQ(ThreadPool().num_threads(), usable_cores());
  EXPECT_EQ(ThreadPool(5).num_threads(), 5);
  EXPECT_THROW(ThreadPool(-1), Error);
  ThreadPool& pool = default_thread_pool(2);
  EXPECT_EQ(&default_thread_pool(), &pool);
  EXPECT_EQ(&default_thread_pool(2), &pool);
  ThreadPool& larger = default_thread_pool(3);
  EXPECT_NE(&larger, &pool);
  EXPECT_EQ(larger.num_threads(), 3);
  EXPECT_EQ(&default_thread_pool(), &pool);
}

#if !defined(TW_TEST_TSAN)  // which does not know threads started after a fork
TEST(ThreadPool, works_in_a_forked_child) {
  ThreadPool pool(3);
  const auto sum_is_right = [&] {
    std::atomic<int64_t> sum{0};
    pool.parallel_for(100, [&](int64_t task, int) { sum += task; });
    return sum == 4950;
  };
  EXPECT_TRUE(sum_is_right());
  for (int i = 0; i < 5; ++i) {
    const int code = test::in_child([&] {
      if (!sum_is_right()) return 1;
      std::atomic<int> arrived{0};
      pool.parallel_for(3, [&](int64_t, int) {  // there are three threads
        ++arrived;
        while (arrived < 3) std::this_thread::yield();
      });
      return test::in_child([&] { return sum_is_right() ? 0 : 1; }) == 0 ? 0 : 2;
    });
    EXPECT_EQ(code, 0);
    EXPECT_TRUE(sum_is_right());
  }
}

TEST(ThreadPool, a_forked_child_may_end_the_pool) {
  EXPECT_EQ(test::in_child([] {
              auto pool = std::make_unique<ThreadPool>(3);
              pool->parallel_for(10, [](int64_t, int) {});
              return test::in_child([&] {
                pool.reset();
                return 0;
              });
            }),
            0);
}
#endif

double best_us_of_launch(ThreadPool& pool, TaskRef task) {
  constexpr int kLaunches = 500;
  std::vector<double> us;
  for (int round = 0; round < 40; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < kLaunches; ++i) pool.parallel_for(2, task);
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / kLaunches);
  }
  std::sort(us.begin(), us.end());
  std::printf("best %.2f us, median %.2f us\n", us[0], us[20]);
  return us[0];
}

// Prints the latency of a launch; the bound only catches a sleep in every launch.
TEST(ThreadPool, launch_latency) {
  ThreadPool pool(2);
  std::printf("empty parallel_for of 2 tasks, 2 threads: ");
  EXPECT_LT(best_us_of_launch(pool, [](int64_t, int) {}), 200);
  // The caller alone may have done both. Here each task waits for the other, so the launch reaches the second thread.
  std::atomic<int64_t> arrived{0};
  std::printf("the same when both threads must take part: ");
  EXPECT_LT(best_us_of_launch(pool,
                              [&](int64_t, int) {
                                const int64_t both = (arrived.fetch_add(1) / 2 + 1) * 2;
                                for (int spins = 0; arrived < both; ++spins) {
                                  if (spins > 20000) std::this_thread::yield();
                                }
                              }),
            200);
}

}  // namespace
}  // namespace tilewright
