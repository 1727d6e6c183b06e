// Places that authors give, behind the passes: what they gave is there, what follows from it follows, and what cannot
// be kept is remarked.
#include "ir/print.h"
#include "passes/cuda_passes.h"
#include "passes/passes.h"

#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <functional>

namespace tilewright::passes {
namespace {

namespace T = tilewright::lang;

struct Placed {
  std::vector<ir::Tile> tiles;
  std::vector<Remark> remarks;

  const ir::Tile& tile(std::string_view name) const {
    for (const ir::Tile& t : tiles) {
      if (t.name == name) return t;
    }
    ADD_FAILURE() << "no tile " << name;
    return tiles[0];
  }
  std::string layout(std::string_view name) const { return layout::to_string(*tile(name).layout); }
  std::string fragment(std::string_view name) const { return layout::to_string(*tile(name).fragment); }
  std::vector<std::string> kinds() const {
    std::vector<std::string> out;
    for (const Remark& remark : remarks) out.push_back(remark.kind);
    return out;
  }
};

Placed placed(const std::function<void()>& body, int threads = 128) {
  const Program program = T::prim_func("p", [&] {
    auto blocks = T::Kernel({1}, {.threads = threads});
    body();
  });
  Placed out;
  cuda_pipeline(program.ir(), {.sm = 80}, out.remarks, [&](const char* pass, const ir::Program& p, double) {
    if (std::string_view(pass) == "plan_operands") out.tiles = p.kernels[0].tiles;
  });
  return out;
}

using Kinds = std::vector<std::string>;

void product(const T::Tile& a, const T::Tile& b, const T::Tile& c) {
  T::clear(a);
  T::clear(b);
  T::clear(c);
  T::gemm(a, b, c);
}

TEST(AnnotatedPlaces, OperandsKeepTheirLayouts) {
  const Placed p = placed([] {
    auto a = T::alloc_shared({64, 32}, T::f16, "a"), b = T::alloc_shared({32, 64}, T::f16, "b");
    auto c = T::alloc_fragment({64, 64}, T::f32, "c");
    T::annotate_layout(a, T::make_padded_layout(a, 8));
    product(a, b, c);
  });
  EXPECT_EQ(p.layout("a"), "(64,32):(40,1)");
  EXPECT_EQ(p.layout("b"), "(32,64):(64,1)^(3,3,3)");
  EXPECT_EQ(p.tile("a").placed.why, "the author");
  EXPECT_EQ(p.tile("b").placed.why, "gemm");
  EXPECT_EQ(p.kinds(), Kinds());
}

// 8 columns are too few for the compiler's own swizzles, but rows of 16 bytes are all that ldmatrix needs.
TEST(AnnotatedPlaces, LayoutsMakeInstructionsPossible) {
  const Placed p = placed(
      [] {
        auto a = T::alloc_shared({16, 16}, T::f16, "a"), b = T::alloc_shared({16, 8}, T::f16, "b");
        auto c = T::alloc_fragment({16, 8}, T::f32, "c");
        T::annotate_layout(b, T::make_linear_layout(b));
        product(a, b, c);
      },
      32);
  EXPECT_EQ(p.kinds(), Kinds());
  EXPECT_EQ(p.fragment("c"), layout::to_string(layout::mma_accumulator(16, 8, 1, 1)));
}

TEST(AnnotatedPlaces, AGemmDividesItselfAsTheAuthorSays) {
  const auto with = [](int64_t m, int64_t n) {
    return placed([=] {
      auto a = T::alloc_shared({64, 32}, T::f16, "a"), b = T::alloc_shared({32, 64}, T::f16, "b");
      auto c = T::alloc_fragment({64, 64}, T::f32, "c"), d = T::alloc_fragment({64, 64}, T::f16, "d");
      T::annotate_layout(c, T::make_mma_accumulator_fragment(c, m, n));
      product(a, b, c);
      for (auto [i, j] : T::Parallel(64, 64)) d(i, j) = T::cast(c(i, j), T::f16);
    });
  };
  for (const auto& [m, n] : {std::pair(1, 4), std::pair(2, 2), std::pair(4, 1)}) {
    const Placed p = with(m, n);
    EXPECT_EQ(p.fragment("c"), layout::to_string(layout::mma_accumulator(64, 64, m, n)));
    EXPECT_EQ(p.fragment("d"), p.fragment("c"));
    EXPECT_EQ(p.tile("c").placed.why, "the author");
    EXPECT_EQ(p.tile("d").placed.why, "a loop");
    EXPECT_EQ(p.kinds(), Kinds());
  }
}

// The same owners written by the author as a function, whose modes are joined otherwise.
TEST(AnnotatedPlaces, OtherFormsOfAnAccumulator) {
  const Placed p = placed(
      [] {
        auto a = T::alloc_shared({64, 16}, T::f16, "a"), b = T::alloc_shared({16, 8}, T::f16, "b");
        auto c = T::alloc_fragment({64, 8}, T::f32, "c");
        T::annotate_layout(b, T::make_linear_layout(b));
        T::annotate_layout(c, T::Fragment({64, 8}, [](int64_t i, int64_t j) {
                             return T::Held{i % 8 * 4 + j / 2, j % 2 + i / 8 * 2};
                           }));
        product(a, b, c);
      },
      32);
  EXPECT_EQ(p.fragment("c"), layout::to_string(layout::mma_accumulator(64, 8, 1, 1)));
  EXPECT_EQ(p.kinds(), Kinds());
}

// Registers are numbered by the form in which a fragment is written: where the author's are forms of one function, a
// tile is written in that of another, but not in two.
TEST(AnnotatedPlaces, OneFormForAllLoops) {
  const auto with = [](bool third) {
    return placed(
        [third] {
          auto x = T::alloc_fragment({16, 4}, T::f32, "x"), z = T::alloc_fragment({16, 4}, T::f32, "z");
          auto y = T::alloc_fragment({16, 4}, T::f32, "y");
          T::annotate_layout(x, T::Fragment("[16,4] threads(16:d0*1,2:-) regs(2:d1*1,2:d1*2)"));
          T::annotate_layout(z, T::Fragment("[16,4] threads(16:d0*1,2:-) regs(4:d1*1)"));
          T::annotate_layout(y, T::Fragment("[16,4] threads(4:d0*1,4:d0*4,2:-) regs(2:d1*1,2:d1*2)"));
          T::clear(x);
          T::clear(y);
          for (auto [i, j] : T::Parallel(16, 4)) z(i, j) = y(i, j);
          if (!third) return;
          for (auto [i, j] : T::Parallel(16, 4)) x(i, j) = y(i, j);
        },
        32);
  };
  const Placed two = with(false), three = with(true);
  EXPECT_EQ(two.fragment("y"), two.fragment("z"));
  EXPECT_EQ(two.kinds(), Kinds());
  EXPECT_EQ(three.kinds(), Kinds{"fragment_in_shared"});
}

TEST(AnnotatedPlaces, NoGemmLeavesWhatTheAuthorSays) {
  const Placed p = placed([] {
    auto a = T::alloc_shared({64, 32}, T::f16, "a"), b = T::alloc_shared({32, 64}, T::f16, "b");
    auto c = T::alloc_fragment({64, 64}, T::f32, "c");
    T::annotate_layout(c, T::Fragment("[64,64] threads(64:d1*1,2:d0*1) regs(32:d0*2)"));
    product(a, b, c);
  });
  EXPECT_EQ(p.tile("c").space, ir::Space::shared);
  ASSERT_EQ(p.kinds(), (Kinds{"fragment_in_shared", "scalar_gemm"}));
  EXPECT_NE(p.remarks[0].text.find("T::make_mma_accumulator_fragment"), std::string::npos) << p.remarks[0].text;
  EXPECT_EQ(p.tile("c").placed.why.rfind("moved out of registers: the author's fragment", 0), 0u);
}

// Of two tiles of a loop the one stays that the author has placed.
TEST(AnnotatedPlaces, TheOtherTileGivesWay) {
  const Placed p = placed([] {
    auto x = T::alloc_fragment({16, 16}, T::f32, "x"), y = T::alloc_fragment({16, 16}, T::f32, "y");
    T::annotate_layout(y, T::Fragment("[16,16] threads(16:d0*1,8:d1*1) regs(2:d1*8)"));
    T::clear(x);
    T::clear(y);
    for (auto [i, j] : T::Parallel(16, 16)) x(i, j) = y(j, i);
    for (auto [i, j] : T::Parallel(16, 16)) x(i, j) = x(i, j) + y(i, j);
  });
  EXPECT_EQ(p.fragment("y"), "[16,16] threads(16:d0*1,8:d1*1) regs(2:d1*8)");
  EXPECT_EQ(p.tile("x").space, ir::Space::shared);
  EXPECT_EQ(p.kinds(), Kinds{"fragment_in_shared"});
}

TEST(AnnotatedPlaces, StagesFollowTheLayout) {
  const Program program = T::prim_func("p", [&] {
    auto A = T::tensor("A", {64, 320}, T::f16);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto a = T::alloc_shared({64, 32}, T::f16, "a"), sum = T::alloc_shared({64, 32}, T::f16, "sum");
    T::annotate_layout(a, T::Layout("(64,32):(32,1)^(2,3,3)"));
    T::clear(sum);
    for (auto k : T::Pipelined(10, {.num_stages = 3})) {
      T::copy(A(0, k * 32), a);
      for (auto [i, j] : T::Parallel(64, 32)) sum(i, j) = sum(i, j) + a(i, j);
    }
    T::copy(sum, A(0, 0));
  });
  std::vector<Remark> remarks;
  const ir::Program out = cuda_pipeline(program.ir(), {.sm = 80}, remarks);
  EXPECT_TRUE(remarks.empty());
  const ir::Tile& staged = out.kernels[0].tile(0);
  EXPECT_EQ(staged.name, "a");
  EXPECT_EQ(layout::to_string(*staged.layout), "(3,64,32):(2048,32,1)^(2,3,3)");
}

TEST(AnnotatedPlaces, TheCpuHasNoUseForThem) {
  const auto code = [](bool annotate) {
    const Program program = T::prim_func("p", [&] {
      auto A = T::tensor("A", {64, 64}, T::f32);
      auto blocks = T::Kernel({1}, {.threads = 128});
      auto s = T::alloc_shared({64, 64}, T::f32, "s");
      auto f = T::alloc_fragment({64, 64}, T::f32, "f");
      if (annotate) {
        T::annotate_layout(s, T::make_swizzled_layout(s));
        T::annotate_layout(f, T::make_mma_accumulator_fragment(f, 2, 2));
      }
      T::copy(A, s);
      T::copy(s, f);
      T::copy(f, A);
    });
    std::vector<Remark> remarks;
    const std::string text = ir::print(cpu_pipeline(program.ir(), {.level = CpuLevel::avx2}, remarks));
    EXPECT_TRUE(remarks.empty());
    return text;
  };
  EXPECT_EQ(code(true), code(false));
}

}  // namespace
}  // namespace tilewright::passes
