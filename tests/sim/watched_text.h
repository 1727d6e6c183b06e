// Small kernels on a watched sm_90a under every schedule, with asynchronous work at every time.
#pragma once

#include "runtime/sim/tensor_map.h"
#include "sim/text_machine.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilewright::test {

constexpr const char* kOrders[] = {"fair", "greedy", "reverse", "random+seed=5"};
constexpr const char* kTimes[] = {"late", "early", "anytime"};
constexpr int64_t kSharedBytes = 16384;

struct WatchedText {
  std::string body;
  int threads = 64;
  int blocks = 1, cluster = 1;
  std::vector<bool> programmatic = {false};  // of each launch
  cuda::TensorMapSpec map = {
      .type = cuda::TensorMapType::u32, .extents = {64, 16}, .strides_bytes = {256}, .box = {8, 4}};

  // Line 1 of the body is line 5 of the text. `in` holds 0, 1, 2, ...; `box` is the block's shared memory; `launch` is
  // the number of the launch.
  std::string text() const {
    return "extern \"C\" __global__ void k(const __grid_constant__ TensorMap map, u32* in, u32* out, u32 launch) {\n"
           "  extern __shared__ unsigned char shared_memory[];\n"
           "  u32* box = reinterpret_cast<u32*>(shared_memory);\n"
           "  const u32 t = threadIdx.x;\n" +
           body + "\n}";
  }
  struct Result {
    Outcome outcome;
    std::vector<uint32_t> out;
  };
  Result run(const std::string& how) const {
    // One module for all schedules of a text.
    static std::map<std::string, TextMachine> machines;
    const std::string whole = text();
    TextMachine& machine = machines.try_emplace(whole, whole, kSharedBytes, "sim:sm_90a+checked").first->second;
    machine.target = sim_target_from_name("sim:sm_90a+checked+" + how);
    std::vector<uint32_t> in(4096);
    Result result{.outcome = {}, .out = std::vector<uint32_t>(4096, 0xcdcdcdcd)};
    for (uint32_t i = 0; i < in.size(); ++i) in[i] = i;
    cuda::TensorMap encoded = sim::encode_tensor_map(map, in.data());
    uint32_t *from = in.data(), *to = result.out.data();
    const auto region = [](std::vector<uint32_t>& v) {
      return sim::Region{reinterpret_cast<unsigned char*>(v.data()), int64_t(4 * v.size()), 4};
    };
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < programmatic.size(); ++i) numbers.push_back(i);
    std::vector<TextMachine::Launch> launches;
    for (uint32_t& number : numbers) {
      launches.push_back({.blocks = blocks,
                          .threads = threads,
                          .arguments = {&encoded, &from, &to, &number},
                          .cluster = cluster,
                          .programmatic = programmatic[number]});
    }
    result.outcome = machine.run(launches, {region(in), region(result.out)});
    return result;
  }
  static void for_all(const std::function<void(const std::string&)>& fn) {
    for (const std::string order : kOrders) {
      for (const std::string time : kTimes) fn(order + "+" + time);
    }
  }
};

// No finding, and out[i] == want(i) for the first `count`.
inline void expect_clean(
    const WatchedText& kernel, size_t count = 0,
    const std::function<uint32_t(uint32_t)>& want = [](uint32_t i) { return i; }) {
  WatchedText::for_all([&](const std::string& how) {
    const auto [outcome, out] = kernel.run(how);
    ASSERT_TRUE(outcome.findings.empty()) << how << ": " << outcome.findings[0].text << "\n" << kernel.body;
    for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(out[i], want(i)) << how << " " << i << "\n" << kernel.body;
  });
}

// A race of these two lines of the text, whichever is first.
inline void expect_race(const WatchedText& kernel, int line_a, int line_b) {
  WatchedText::for_all([&](const std::string& how) {
    const Outcome outcome = kernel.run(how).outcome;
    bool found = false;
    std::string seen;
    for (size_t i = 0; i < outcome.findings.size(); ++i) {
      seen += outcome.findings[i].text + "\n";
      if (outcome.findings[i].kind != sim::Finding::Kind::race || outcome.note_lines[i].empty()) continue;
      const int now = outcome.lines[i], before = outcome.note_lines[i][0];
      found = found || (std::min(now, before) == line_a && std::max(now, before) == line_b);
    }
    EXPECT_TRUE(found) << how << ", seen:\n" << seen << kernel.body;
  });
}

// A finding of this kind whose text contains `part`, at this line of the text. `how`: the schedules; empty: all.
inline void expect_found(const WatchedText& kernel, sim::Finding::Kind kind, const std::string& part, int line,
                         const std::string& how = "") {
  const auto check = [&](const std::string& name) {
    const Outcome outcome = kernel.run(name).outcome;
    bool found = false;
    std::string seen;
    for (size_t i = 0; i < outcome.findings.size(); ++i) {
      const sim::Finding& f = outcome.findings[i];
      seen += f.text + ", line " + std::to_string(outcome.lines[i]) + "\n";
      found = found || (f.kind == kind && f.text.find(part) != std::string::npos && outcome.lines[i] == line);
    }
    EXPECT_TRUE(found) << name << ": " << part << "; seen:\n" << seen << kernel.body;
  };
  how.empty() ? WatchedText::for_all(check) : check(how);
}

// Who waits for ever: the notes of the deadlock, sorted, with their lines.
inline void expect_deadlock(const WatchedText& kernel, const std::vector<std::pair<std::string, int>>& notes,
                            const std::string& only = "") {
  WatchedText::for_all([&](const std::string& how) {
    if (how.find(only) == std::string::npos) return;
    const Outcome outcome = kernel.run(how).outcome;
    ASSERT_FALSE(outcome.findings.empty()) << how << "\n" << kernel.body;
    const sim::Finding& f = outcome.findings[0];
    EXPECT_EQ(f.kind, sim::Finding::Kind::deadlock) << how << " " << f.text;
    std::vector<std::pair<std::string, int>> got;
    for (size_t i = 0; i < f.notes.size(); ++i) got.emplace_back(f.notes[i].text, outcome.note_lines[0][i]);
    EXPECT_EQ(got, notes) << how << "\n" << kernel.body;
  });
}

}  // namespace tilewright::test
