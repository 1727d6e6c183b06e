// Atomics of the CPU backend on several threads: no update is lost, and each gets a value from before of its own.
#include "tilewright/device/cpu/atomic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

namespace cpu = tilewright::device::cpu;

namespace {

constexpr int kThreads = 4;

void on_threads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
  for (std::thread& t : threads) t.join();
}

template <class T>
T element(cpu::Value<T> x) {
  return cpu::bit_cast<T>(cpu::Element<T>::bits(x));
}
template <class T>
cpu::Value<T> value(T x) {
  return cpu::Element<T>::value(cpu::bit_cast<cpu::Bits<T>>(x));
}

// Sums of ones stay exact up to `limit`.
template <class T>
void adds_are_not_lost(int each) {
  T sum = element<T>(cpu::Value<T>(1));
  std::vector<std::vector<double>> before(kThreads);
  on_threads([&](int t) {
    for (int k = 0; k < each; ++k) {
      before[size_t(t)].push_back(double(cpu::atomic_add<cpu::k_relaxed>(&sum, cpu::Value<T>(1))));
    }
  });
  EXPECT_EQ(double(value(sum)), 1 + kThreads * each);
  std::vector<double> all;
  for (const auto& list : before) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  for (size_t k = 0; k < all.size(); ++k) ASSERT_EQ(all[k], double(k + 1));
}

TEST(CpuAtomics, AddsAreNotLost) {
  adds_are_not_lost<cpu::i32>(50000);
  adds_are_not_lost<cpu::u32>(50000);
  adds_are_not_lost<cpu::i64>(50000);
  adds_are_not_lost<cpu::u64>(50000);
  adds_are_not_lost<float>(50000);
  adds_are_not_lost<double>(50000);
  adds_are_not_lost<cpu::F16>(500);  // 2048 and fewer ones are exact
  adds_are_not_lost<cpu::BF16>(60);  // 256
}

template <class T>
void extremes_of(cpu::Value<T> low, cpu::Value<T> high) {
  T most = element<T>(low), least = element<T>(high);
  on_threads([&](int t) {
    for (int k = 0; k < 2000; ++k) {
      const auto v = cpu::Value<T>((k * 7 + t) % 120);
      cpu::atomic_max<cpu::k_acq_rel>(&most, v);
      cpu::atomic_min<cpu::k_release>(&least, v);
    }
  });
  EXPECT_EQ(double(value(most)), 119);
  EXPECT_EQ(double(value(least)), 0);
}

TEST(CpuAtomics, Extremes) {
  extremes_of<cpu::i32>(-5, 1000);
  extremes_of<cpu::u32>(1, 4000000000u);
  extremes_of<cpu::i64>(-(1ll << 40), 1ll << 40);
  extremes_of<cpu::u64>(1, ~0ull);
  extremes_of<float>(-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
  extremes_of<double>(std::numeric_limits<double>::quiet_NaN(), 1e300);
  extremes_of<cpu::F16>(std::numeric_limits<float>::quiet_NaN(), 60000);
  extremes_of<cpu::BF16>(-1e30f, 1e30f);
}

TEST(CpuAtomics, Bits) {
  cpu::u64 set = 0, kept = ~0ull, flipped = 0;
  on_threads([&](int t) {
    for (int k = 0; k < 64; k += 4) {
      const cpu::u64 bit = 1ull << (k + t);
      cpu::atomic_or<cpu::k_seq_cst>(&set, bit);
      cpu::atomic_and<cpu::k_relaxed>(&kept, ~bit);
      for (int n = 0; n < 101; ++n) cpu::atomic_xor<cpu::k_relaxed>(&flipped, bit);
    }
  });
  EXPECT_EQ(set, ~0ull);
  EXPECT_EQ(kept, 0u);
  EXPECT_EQ(flipped, ~0ull);
}

// What is stored before a release is seen after the acquire that reads its flag.
TEST(CpuAtomics, ReleaseAndAcquire) {
  for (int round = 0; round < 200; ++round) {
    double data = 0;
    float flag = 0;
    std::thread reader([&] {
      while (cpu::atomic_load<cpu::k_acquire>(&flag) == 0) std::this_thread::yield();
      EXPECT_EQ(data, 42);
    });
    data = 42;
    cpu::atomic_store<cpu::k_release>(&flag, 1.0f);
    reader.join();
  }
}

TEST(CpuAtomics, HalvesAreRounded) {
  cpu::F16 half = element<cpu::F16>(2048);
  EXPECT_EQ(cpu::atomic_add<cpu::k_relaxed>(&half, 1.0f), 2048);
  EXPECT_EQ(value(half), 2048);  // a tie, to even
  cpu::atomic_add<cpu::k_relaxed>(&half, 1.5f);
  EXPECT_EQ(value(half), 2050);
  cpu::atomic_add<cpu::k_relaxed>(&half, 65504.0f);
  EXPECT_TRUE(std::isinf(value(half)));
}

}  // namespace
