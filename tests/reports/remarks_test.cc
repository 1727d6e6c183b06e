// Every remark that compiling or binding can make: the quickstart's kernel has none, and a change that costs something
// brings out the one for it. What kinds there are is read from the sources, so that a new one needs a change here.
#include "../../examples/gemm_epilogue.h"
#include "../../examples/matmul_relu.h"
#include "../../examples/rms_norm_silu.h"
#include "../../examples/split_k.h"
#include "harness/folders.h"
#include "harness/machine.h"
#include "runtime/test_folder.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>

namespace tilewright {
namespace {

namespace T = tilewright::lang;

using Kinds = std::set<std::string>;

std::set<std::string> kinds_in_sources() {
  static const std::regex kKind("(\\.kind = |remark\\()\"(\\w+)\"");
  std::set<std::string> kinds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::source_folder() / "src")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = test::read_text(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), kKind), end; it != end; ++it) kinds.insert((*it)[2]);
  }
  return kinds;
}

Kinds kinds_of(const std::vector<Remark>& remarks) {
  Kinds kinds;
  for (const Remark& remark : remarks) {
    EXPECT_FALSE(remark.text.empty()) << remark.kind;
    kinds.insert(remark.kind);
  }
  return kinds;
}

Kinds compiled(const Program& program, const std::string& target = "sim:sm_80") {
  return kinds_of(compile(program, {.target = target, .optimize = 0}).remarks());
}

// The quickstart's kernel with one thing changed.
struct Change {
  int64_t rows = 128;
  T::Expr grid_x = 1;
  DType in = DType::f16;
  double safe_value = 0;
  int num_stages = 3;
  bool is_one_dimensional = false;
  std::function<void(const T::Tile& a, const T::Tile& b, const T::Tile& c)> more = [](auto&, auto&, auto&) {};
};

Program matmul(const Change& change) {
  return T::prim_func("matmul", [&] {
    auto A = T::tensor("A", {change.rows, 64}, change.in, {.safe_value = change.safe_value});
    auto B = T::tensor("B", {64, 128}, change.in);
    auto C = T::tensor("C", {change.rows, 128}, T::f16);
    const T::Expr rows = T::ceildiv(change.rows, 128);
    const auto body = [&](const T::Expr& by) {
      auto a = T::alloc_shared({128, 32}, change.in, "a"), b = T::alloc_shared({32, 128}, change.in, "b");
      auto c = T::alloc_fragment({128, 128}, T::f32, "c");
      T::use_swizzle(4);
      T::clear(c);
      for (auto ko : T::Pipelined(2, {.num_stages = change.num_stages})) {
        T::copy(A(by * 128, ko * 32), a);
        T::copy(B(ko * 32, 0), b);
        T::gemm(a, b, c);
      }
      for (auto [i, j] : T::Parallel(128, 128)) c(i, j) = T::max(c(i, j), 0);
      change.more(a, b, c);
      T::copy(c, C(by * 128, 0));
    };
    if (change.is_one_dimensional) {
      auto [by] = T::Kernel({rows}, {.threads = 128});
      return body(by);
    }
    auto [bx, by] = T::Kernel({T::Expr(1), rows}, {.threads = 128});
    body(by);
  });
}

Kinds changed(Change change) { return compiled(matmul(change)); }
Kinds changed(std::function<void(const T::Tile& a, const T::Tile& b, const T::Tile& c)> more) {
  return compiled(matmul({.more = std::move(more)}));
}

// C begins two bytes behind an aligned address.
Kinds bound_to_odd_places() {
  const CompiledKernel kernel = compile(matmul({}), {.target = "sim:sm_80", .optimize = 0});
  std::vector<uint16_t> memory(128 * 128 + 16);
  const auto odd = (reinterpret_cast<uintptr_t>(memory.data()) / 16 + 1) * 16 + 2;
  const auto view = [&](std::vector<int64_t> shape) {
    return TensorView{reinterpret_cast<uint16_t*>(odd), DType::f16, std::move(shape)};
  };
  return kinds_of(kernel.bind(view({128, 64}), view({64, 128}), view({128, 128})).remarks());
}

Kinds bound_to_host_memory() {
  const CompiledKernel kernel = compile(matmul({}), {.target = "cuda"});
  std::vector<uint16_t> memory(128 * 128);
  const auto view = [&](std::vector<int64_t> shape) { return TensorView{memory.data(), DType::f16, std::move(shape)}; };
  return kinds_of(kernel.bind(view({128, 64}), view({64, 128}), view({128, 128})).remarks());
}

void scan(const T::Tile& a, const T::Tile&, const T::Tile&) { T::cumsum(a, {.dim = 1}); }

// What brings out each kind.
const std::map<std::string, std::function<Kinds()>>& planted() {
  static const std::map<std::string, std::function<Kinds()>> kPlanted = {
      {"scalar_gemm", [] { return changed({.in = DType::f32}); }},
      {"fragment_in_shared", [] { return changed([](auto&, auto&, auto& c) { c(3, 4) = 1; }); }},
      {"narrow_access", [] { return compiled(examples::rms_norm_silu(8, 1001, 1e-6, DType::bf16), "cuda:sm_90a"); }},
      {"serial_pipeline", [] { return changed({.safe_value = 1}); }},
      {"fewer_stages", [] { return changed({.num_stages = 12}); }},
      {"bank_conflicts",
       [] { return changed([](auto& a, auto&, auto&) { T::annotate_layout(a, T::make_linear_layout(a)); }); }},
      {"element_copy",
       [] { return changed([](auto& a, auto&, auto&) { T::annotate_layout(a, T::make_padded_layout(a, 1)); }); }},
      {"layout_ignored",
       [] {
         return changed([](auto& a, auto&, auto&) {
           T::annotate_layout(a, T::make_swizzled_layout(a));
           T::reshape(a, {32, 128});
         });
       }},
      {"scalar_scan", [] { return changed(scan); }},
      {"scalar_reduce",
       [] {
         return changed([](auto& a, auto&, auto&) {
           auto sums = T::alloc_shared({128}, T::f16, "sums");
           T::reduce_sum(a, sums, {.dim = 1});
         });
       }},
      {"empty_grid", [] { return changed({.rows = 0}); }},
      {"raster", [] { return changed({.is_one_dimensional = true}); }},
      {"unaligned_tensor", bound_to_odd_places},
      {"host_tensor", bound_to_host_memory},
  };
  return kPlanted;
}

TEST(Remarks, TheQuickstartsKernelHasNone) {
  for (const char* target : {"sim:sm_80", "sim:sm_90a"}) {
    EXPECT_EQ(compiled(matmul({}), target), Kinds()) << target;
    EXPECT_EQ(compiled(examples::matmul_relu(1024, 1024, 1024, 128, 128, 32), target), Kinds()) << target;
  }
}

// Those that multiply f32, which no tensor core does exactly, say that, and nothing worse; dynamic and odd extents
// change nothing.
TEST(Remarks, ProductsOfTheExamples) {
  const auto expect_within = [](const Program& program, const Kinds& allowed) {
    for (const std::string& kind : compiled(program)) EXPECT_TRUE(allowed.contains(kind)) << kind;
  };
  expect_within(examples::matmul_relu(1000, 1000, 1000, 128, 128, 32), {});
  expect_within(examples::gemm_epilogue(300, 500, 200), {"scalar_gemm"});
  expect_within(examples::split_k(72, 96, 3008), {"scalar_gemm"});
}

// One source at every width: whole vectors, and nothing that gives way.
TEST(Remarks, NormsOfUsualWidthsHaveNone) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const int64_t width : {96, 160, 192, 256, 320, 384, 512, 640, 1024, 1000, 4096, 16384, 65536}) {
      const CompiledKernel kernel =
          compile(examples::rms_norm_silu(4096, width, 1e-6, dtype), {.target = "cuda:sm_90a"});
      EXPECT_EQ(kinds_of(kernel.remarks()), Kinds()) << width;
      const std::string source = kernel.get_kernel_source();
      const std::string vector = fmt::format("store_vector<{}, tw::StoreHint::stream>(y", 16 / bytes_of(dtype));
      // The whole of y leaves so: an element of it is named nowhere. The last of two parts may be narrower.
      const bool is_whole = !std::regex_search(source, std::regex("\\by\\[")) || width > 32768;
      const bool is_large = width * 4096 * bytes_of(dtype) >= 32 << 20;
      EXPECT_TRUE(is_whole && (!is_large || source.find(vector) != std::string::npos)) << width << source;
    }
  }
}

TEST(Remarks, EachKindHasItsCause) {
  Kinds known;
  for (const auto& [kind, plant] : planted()) {
    known.insert(kind);
    // Only a launch on a GPU copies tensors.
    if (kind == "host_tensor" && !testing::has_gpu()) continue;
    EXPECT_TRUE(plant().contains(kind)) << kind;
  }
  known.insert("cache");  // of the machine's folders, whatever the kernel: tests/runtime/cache_test.cc
  EXPECT_EQ(known, kinds_in_sources());
}

// The words are what programs look for.
TEST(Remarks, AreListedInTheDocuments) {
  const std::string text = test::read_text(testing::source_folder() / "docs/errors.md");
  for (const std::string& kind : kinds_in_sources()) {
    EXPECT_TRUE(std::regex_search(text, std::regex(fmt::format("\n\\| [^|]*`{}`", kind)))) << kind;
  }
}

}  // namespace
}  // namespace tilewright
