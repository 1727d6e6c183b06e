// The products of tests/schedule/tables.h, which load by bulk copies and multiply by warpgroups, on the simulator:
// ragged extents, one and many steps, under each schedule, with copies and products that take place late, early and at
// any time. Elements are small integers, so that every sum is exact. And the same texts without one line that they
// need, which is found.
#include "codegen/cuda.h"
#include "gpu/number_formats.h"
#include "passes/cuda_passes.h"
#include "runtime/sim/detector.h"
#include "runtime/sim/module.h"
#include "runtime/sim/tensor_map.h"
#include "schedule/tables.h"
#include "sim/tools.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::test {
namespace {

using sim::Finding;
using testing::Product;

constexpr const char* kOrders[] = {"fair", "greedy", "reverse", "random+seed=3"};
constexpr const char* kTimes[] = {"late", "early", "anytime"};

cuda::TensorMapSpec spec_of(const ir::Program& program, const ir::TensorMap& map) {
  const ir::Tensor& tensor = program.tensors[size_t(map.tensor)];
  cuda::TensorMapSpec spec;
  spec.type = tensor.dtype == DType::f16 ? cuda::TensorMapType::f16 : cuda::TensorMapType::bf16;
  spec.swizzle = map.span_bytes == 128  ? cuda::TensorMapSwizzle::span128
                 : map.span_bytes == 64 ? cuda::TensorMapSwizzle::span64
                                        : cuda::TensorMapSwizzle::span32;
  const int64_t rows = *tensor.shape[0].as_int(), columns = *tensor.shape[1].as_int();
  spec.extents = {uint64_t(columns), uint64_t(rows)};
  spec.strides_bytes = {uint64_t(columns) * 2};
  spec.box = {uint32_t(map.box[1]), uint32_t(map.box[0])};
  return spec;
}

int value(int tensor, int64_t row, int64_t column) { return int((row * 7 + column * 3 + tensor * 5) % 5) - 2; }

// One table as text, and what its launches come to.
class ProductMachine {
 public:
  // `change` plants a mistake into the text.
  explicit ProductMachine(const Product& p, const std::function<std::string(std::string)>& change = {})
      : p_(p), program_(testing::wgmma_product(p)) {
    const CudaTarget target = cuda_target_from_arch("sm_90a").value();
    std::vector<Remark> remarks;
    const ir::Program lowered =
        passes::lower_cuda(passes::expand_unselected(program_, target, remarks), program_, target);
    text_ = codegen::emit_cuda(lowered, target);
    if (change) text_.source = change(text_.source);
  }

  struct Result {
    std::vector<Finding> findings;
    std::vector<std::string> lines;  // of the text, of each finding
    int64_t wrong = 0;               // elements
  };
  Result run(const std::string& how);

 private:
  std::vector<uint16_t> matrix(int tensor, int64_t rows, int64_t columns) const {
    std::vector<uint16_t> out;
    for (int64_t i = 0; i < rows * columns; ++i) out.push_back(encoded(value(tensor, i / columns, i % columns)));
    return out;
  }
  uint16_t encoded(double x) const { return uint16_t(encode(p_.type == "f16" ? kF16 : kBf16, x)); }
  void launch(const sim::Code& kernel, const SimTarget& target, sim::Detector* detector, Result& result);
  int64_t count_wrong() const;

  Product p_;
  ir::Program program_;
  codegen::CudaModule text_;
  std::vector<uint16_t> a_, b_, c_;
};

ProductMachine::Result ProductMachine::run(const std::string& how) {
  const SimTarget target = sim_target_from_name("sim:sm_90a" + how);
  Tools& tools = Tools::get();
  const codegen::CudaEntry& entry = text_.entries[0];
  SourceMap map;
  map.locs.resize(size_t(std::count(text_.source.begin(), text_.source.end(), '\n')));
  const std::vector<sim::KernelShape> kernels = {{entry.symbol, entry.shared_bytes, 2}};
  const auto code = sim::Module::compile(text_.source, map, kernels, target, tools.compiler, tools.cache);
  a_ = matrix(0, p_.m, p_.k);
  b_ = p_.transpose_b ? matrix(1, p_.n, p_.k) : matrix(1, p_.k, p_.n);
  c_.assign(size_t(p_.m * p_.n), 0x7c01);
  std::vector<sim::Region> regions;
  for (auto* tensor : {&a_, &b_, &c_}) {
    regions.push_back({reinterpret_cast<unsigned char*>(tensor->data()), int64_t(2 * tensor->size()), 2});
  }
  std::optional<sim::Detector> detector;
  if (target.checked) detector.emplace(regions, 2, 0);
  Result result;
  launch(code->kernels()[0], target, detector ? &*detector : nullptr, result);
  const auto lines = code->lines(result.findings, tools.options.temp_dir);
  for (const Finding& f : result.findings) result.lines.push_back(code->source_line(lines.at(f.site.value)));
  result.wrong = count_wrong();
  return result;
}

void ProductMachine::launch(const sim::Code& kernel, const SimTarget& target, sim::Detector* detector, Result& result) {
  const codegen::CudaEntry& entry = text_.entries[0];
  int64_t blocks = 1, first_block = 0;
  for (const ir::Expr& extent : entry.grid) blocks *= *extent.as_int();
  void *a = a_.data(), *b = b_.data(), *c = c_.data(), *no_failure = nullptr;
  cuda::TensorMap maps[] = {sim::encode_tensor_map(spec_of(program_, entry.maps[0]), a),
                            sim::encode_tensor_map(spec_of(program_, entry.maps[1]), b)};
  void* const arguments[] = {&a, &b, &c, &maps[0], &maps[1], &first_block, &no_failure};
  for (int64_t block = 0; block < blocks && result.findings.empty(); ++block) {
    const sim::Block place{
        .block = {unsigned(block), 0, 0}, .grid = {unsigned(blocks), 1, 1}, .threads = {unsigned(entry.threads), 1, 1}};
    auto found = sim::run_block(kernel, place, arguments, target.adversary, detector);
    if (found) result.findings.push_back(std::move(*found));
  }
  if (detector == nullptr) return;
  for (Finding& f : detector->findings()) result.findings.push_back(std::move(f));
}

int64_t ProductMachine::count_wrong() const {
  int64_t out = 0;
  for (int64_t i = 0; i < p_.m; ++i) {
    for (int64_t j = 0; j < p_.n; ++j) {
      int want = 0;
      for (int64_t l = 0; l < p_.k; ++l) want += value(0, i, l) * (p_.transpose_b ? value(1, j, l) : value(1, l, j));
      out += c_[size_t(i * p_.n + j)] != encoded(p_.rounds * want);
    }
  }
  return out;
}

std::string name_of(const Product& p) {
  return fmt::format("{} x {} x {}, {} stages, {} groups, {} rounds", p.m, p.n, p.k, p.stages, p.groups, p.rounds);
}

void expect_right(const Product& p) {
  ProductMachine machine(p);
  for (const std::string order : kOrders) {
    for (const std::string time : kTimes) {
      for (const std::string checked : {"", "+checked"}) {
        SCOPED_TRACE(name_of(p) + " " + order + " " + time + checked);
        const ProductMachine::Result result = machine.run(checked + "+" + order + "+" + time);
        EXPECT_EQ(result.wrong, 0);
        ASSERT_TRUE(result.findings.empty()) << result.findings[0].text << "\n" << result.lines[0];
      }
    }
  }
}

const Product kSmall{
    .m = 72, .n = 40, .k = 200, .block_m = 64, .block_n = 32, .groups = 1, .regs_compute = 0, .regs_load = 0};

TEST(SimProducts, RaggedInAllExtents) {
  expect_right({.m = 130, .n = 136, .k = 200, .stages = 2});
  expect_right(kSmall);
}
TEST(SimProducts, OneStep) {
  expect_right({.m = 130, .n = 136, .k = 40});
  expect_right({.m = 1, .n = 8, .k = 8});
}
TEST(SimProducts, OneStage) { expect_right({.m = 100, .n = 128, .k = 192, .stages = 1, .type = "bf16"}); }
TEST(SimProducts, TransposedB) {
  expect_right({.m = 70, .n = 128, .k = 104, .block_k = 32, .stages = 4, .transpose_b = true});
}
TEST(SimProducts, SeveralRounds) {
  Product p = kSmall;
  p.rounds = 3;
  expect_right(p);
}

// ---- texts that lack something ----

std::string replaced_all(std::string text, const std::string& from, const std::string& to) {
  size_t count = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    ++count;
  }
  EXPECT_GT(count, 0u) << from;
  return text;
}
// Without the statement that begins so: up to its semicolon.
std::string without(const std::string& text, const std::string& beginning) {
  const size_t at = text.find(beginning);
  EXPECT_NE(at, std::string::npos) << beginning;
  return text.substr(0, at) + text.substr(text.find(';', at) + 1);
}

// Every run finds something, and all (some) of them something of that kind whose text contains `part`.
void expect_found(Finding::Kind kind, const std::string& part, const std::function<std::string(std::string)>& change,
                  bool in_all_schedules = true) {
  ProductMachine machine(kSmall, change);
  int found = 0, runs = 0;
  std::string seen;
  for (const std::string order : kOrders) {
    for (const std::string time : kTimes) {
      const ProductMachine::Result result = machine.run("+checked+" + order + "+" + time);
      ++runs;
      bool here = false;
      EXPECT_FALSE(result.findings.empty()) << part << ": " << order << " " << time;
      for (const Finding& f : result.findings) {
        here = here || (f.kind == kind && f.text.find(part) != std::string::npos);
        seen += f.text + "\n";
      }
      found += here;
    }
  }
  EXPECT_GE(found, in_all_schedules ? runs : 1) << part << " of " << runs << " runs; seen:\n" << seen;
}

TEST(SimProducts, WhatATextLacksIsFound) {
  using enum Finding::Kind;
  // The consumers read before the copies have come.
  expect_found(race, "reads, a copy for the mbarrier",
               [](const std::string& t) { return without(t, "tw::mbarrier_wait(tw::shared_address(full_operands"); });
  // The producer overwrites what is still read.
  expect_found(
      race, "a product of warp",
      [](const std::string& t) { return without(t, "tw::mbarrier_wait(tw::shared_address(empty_operands"); }, false);
  // A buffer is given back while the group that reads it is in flight.
  expect_found(race, "a product of warp",
               [](const std::string& t) { return replaced_all(t, "tw::wgmma_wait<1>();", "tw::wgmma_wait<2>();"); });
  // The first phase ends before the bytes have come.
  expect_found(race, "a copy for the mbarrier", [](const std::string& t) {
    return replaced_all(
        t, "tw::mbarrier_arrive_expect(tw::shared_address(full_operands + tw::remainder(it_17, 3)), tw::u32(12288))",
        "tw::mbarrier_arrive(tw::shared_address(full_operands + tw::remainder(it_17, 3)))");
  });
  expect_found(deadlock, "waits for ever",
               [](const std::string& t) { return replaced_all(t, "tw::u32(12288)", "tw::u32(12304)"); });
  expect_found(race, "fence_mbarrier_init", [](const std::string& t) { return without(t, "tw::fence_mbarrier_init"); });
  expect_found(misuse, "no wgmma_fence", [](const std::string& t) { return without(t, "tw::wgmma_fence"); });
}

}  // namespace
}  // namespace tilewright::test
