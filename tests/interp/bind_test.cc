// Launch arguments: every check with its text, and dynamic extents.
#include "program_builder.h"

#include "runtime/bind.h"

#include <cmath>

namespace tilewright::test {
namespace {

const DType f32 = DType::f32;

struct Matmul : Builder {  // A [m, k], B [k, n]
  Expr m = extent("m"), k = extent("k"), n = extent("n");
  std::vector<float> data = std::vector<float>(64);
  Matmul() {
    tensor("A", f32, {m, k});
    tensor("B", f32, {k, n});
  }
  BoundArguments bind(std::vector<Argument> a) { return bind_arguments(program, a); }
  TensorView of(std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
    return view(data, f32, shape, strides);
  }
  std::string refusal(std::vector<Argument> a) {
    return report_of([&] { bind(std::move(a)); });
  }
};

TEST(Bind, SolvesExtents) {
  Matmul p;
  const BoundArguments bound = p.bind({p.of({2, 3}), p.of({3, 5})});
  EXPECT_EQ(bound.tensors[1].shape, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(bound.tensors[1].strides, (std::vector<int64_t>{5, 1}));
  EXPECT_EQ(bound.scalars[size_t(p.n.var_id())]->i, 5);
  EXPECT_EQ(evaluate(ceildiv(p.n * p.m, int_imm(4)), bound.scalars), 3);
}

TEST(Bind, ExtentsDisagree) {
  Matmul p;
  EXPECT_EQ(p.refusal({p.of({2, 3}), p.of({4, 5})}),
            "error: argument 2 (B): dimension 0 is 4, but k = 3 is expected\n"
            "  note: B  f32[k, n]  declared at kernel.tw:11\n"
            "  note: k = 3 by dimension 1 of argument 1, A  f32[m, k]  declared at kernel.tw:10\n"
            "  hint: pass a tensor with extent 3 there");
}

TEST(Bind, CountKindDtypeRank) {
  Matmul p;
  EXPECT_EQ(p.refusal({p.of({2, 3})}),
            "error: sample takes 2 arguments (A, B), but 1 was passed\n"
            "  note: sample  program  declared at kernel.tw:1\n"
            "  hint: pass tensors and scalars in the order of their declarations");
  EXPECT_EQ(p.refusal({p.of({2, 3}), int64_t(1)}),
            "error: argument 2 (B): a scalar was passed, but it is a tensor\n"
            "  note: B  f32[k, n]  declared at kernel.tw:11\n"
            "  hint: pass a TensorView");
  TensorView half = p.of({2, 3});
  half.dtype = DType::f16;
  EXPECT_EQ(p.refusal({half, p.of({3, 5})}),
            "error: argument 1 (A): dtype is f16, but f32 is expected\n"
            "  note: A  f32[m, k]  declared at kernel.tw:10\n"
            "  hint: convert the tensor to f32");
  EXPECT_EQ(p.refusal({p.of({6}), p.of({3, 5})}),
            "error: argument 1 (A): shape [6] has 1 dimensions, but 2 are expected\n"
            "  note: A  f32[m, k]  declared at kernel.tw:10\n"
            "  hint: reshape the view; unit dimensions count");
}

TEST(Bind, ExtentTooLarge) {
  Matmul p;
  const int64_t most = int64_t(1) << 48;
  EXPECT_NO_THROW(p.bind({p.of({0, most}), p.of({most, 0})}));
  EXPECT_EQ(p.refusal({p.of({0, most + 1}), p.of({most + 1, 0})}).substr(0, 81),
            "error: the extent k is 281474976710657, but at most 281474976710656 is possible\n ");
}

TEST(Bind, DevicePointerAlignmentExtent) {
  Matmul p;
  TensorView a = p.of({2, 3});
  a.device = DeviceKind::cuda;
  a.device_index = 1;
  EXPECT_EQ(p.refusal({a, p.of({3, 5})}),
            "error: argument 1 (A): the tensor is on cuda:1, but the kernel runs on the cpu\n"
            "  note: A  f32[m, k]  declared at kernel.tw:10\n"
            "  hint: copy the tensor to host memory, or compile for target cuda");
  a = p.of({2, 3});
  a.data = nullptr;
  EXPECT_EQ(p.refusal({a, p.of({3, 5})}),
            "error: argument 1 (A): the pointer is null, but the shape is [2, 3]\n"
            "  note: A  f32[m, k]  declared at kernel.tw:10\n"
            "  hint: only a tensor without elements may have a null pointer");
  a.shape = {0, 3};
  EXPECT_NO_THROW(p.bind({a, p.of({3, 5})}));
  a = p.of({2, 3});
  a.data = reinterpret_cast<char*>(p.data.data()) + 2;
  EXPECT_NE(p.refusal({a, p.of({3, 5})}).find("is not a multiple of 4 bytes, the size of f32"), std::string::npos);
  EXPECT_EQ(p.refusal({p.of({-2, 3}), p.of({3, 5})}),
            "error: argument 1 (A): the extent of dimension 0 is -2\n"
            "  note: A  f32[m, k]  declared at kernel.tw:10\n"
            "  hint: extents are 0 or more");
}

TEST(Bind, Strides) {
  Matmul p;
  EXPECT_EQ(p.refusal({p.of({2, 3}, {1, 2}), p.of({3, 5})}),
            "error: argument 1 (A): the stride of dimension 0 is 1, but 3 is expected\n"
            "  note: A  f32[m, k]  declared at kernel.tw:10\n"
            "  hint: pass a contiguous tensor, or declare strides to pass a strided or transposed view");
  EXPECT_NO_THROW(p.bind({p.of({1, 3}, {77, 1}), p.of({3, 5})}));  // unit dimension
  EXPECT_NO_THROW(p.bind({p.of({0, 3}, {77, 5}), p.of({3, 5})}));  // empty
  EXPECT_NE(p.refusal({p.of({2, 3}, {3}), p.of({3, 5})}).find("there are 1 strides for 2 dimensions"),
            std::string::npos);
  Builder b;
  const Expr s = b.extent("s"), m = b.extent("m");
  b.tensor("A", f32, {m, int_imm(3)}, TensorKind::parameter, {s, int_imm(1)});
  const auto bind = [&](std::vector<int64_t> shape, std::vector<int64_t> strides) {
    const std::vector<Argument> a = {view(p.data, f32, std::move(shape), std::move(strides))};
    return bind_arguments(b.program, a);
  };
  EXPECT_EQ(bind({2, 3}, {8, 1}).scalars[size_t(s.var_id())]->i, 8);
  EXPECT_EQ(bind({1, 3}, {8, 1}).scalars[size_t(s.var_id())]->i, 8);  // free, but the only source
  EXPECT_EQ(report_of([&] {
              bind({2, 3}, {1, 2});
            }),
            "error: argument 1 (A): the stride of dimension 1 is 2, but 1 is expected\n"
            "  note: A  f32[m, 3]  declared at kernel.tw:10\n"
            "  hint: pass a view with the declared stride 1");
}

TEST(Bind, LinearExtents) {
  Builder b;
  const Expr m = b.extent("m"), k = b.extent("k");
  b.tensor("A", f32, {m + 1, k * 2});
  b.tensor("B", f32, {m * k});
  std::vector<float> data(64);
  const auto bind = [&](std::vector<int64_t> x, std::vector<int64_t> y) {
    const std::vector<Argument> a = {view(data, f32, std::move(x)), view(data, f32, std::move(y))};
    return bind_arguments(b.program, a);
  };
  const BoundArguments bound = bind({4, 6}, {9});
  EXPECT_EQ(bound.scalars[size_t(m.var_id())]->i, 3);
  EXPECT_EQ(bound.scalars[size_t(k.var_id())]->i, 3);
  EXPECT_EQ(report_of([&] {
              bind({4, 5}, {9});
            }),
            "error: argument 1 (A): dimension 1 is 5, but no integer k makes k * 2 that\n"
            "  note: A  f32[m + 1, k * 2]  declared at kernel.tw:10\n"
            "  note: k  extent  declared at kernel.tw:21\n"
            "  hint: pass a tensor whose extent has the form k * 2");
  EXPECT_EQ(report_of([&] {
              bind({4, 6}, {8});
            }),
            "error: argument 2 (B): dimension 0 is 8, but m * k = 9 is expected\n"
            "  note: B  f32[m * k]  declared at kernel.tw:11\n"
            "  note: m = 3 by dimension 0 of argument 1, A  f32[m + 1, k * 2]  declared at kernel.tw:10\n"
            "  note: k = 3 by dimension 1 of argument 1, A  f32[m + 1, k * 2]  declared at kernel.tw:10\n"
            "  hint: pass a tensor with extent 9 there");
  EXPECT_NE(report_of([&] { bind({0, 6}, {8}); }).find("makes m = -1, not a possible i64 extent"), std::string::npos);
}

// Every way of writing an extent by one unknown, the other one known: the launch that has the extent tells the unknown.
TEST(Bind, SolvesEachLinearForm) {
  struct LinearForm {
    Expr (*declared)(const Expr& m, const Expr& k);
    int64_t (*extent)(int64_t m, int64_t k);
  };
  const LinearForm forms[] = {
      {[](const Expr& m, const Expr&) { return m + 7; }, [](int64_t m, int64_t) { return m + 7; }},
      {[](const Expr& m, const Expr&) { return int_imm(40) - m; }, [](int64_t m, int64_t) { return 40 - m; }},
      {[](const Expr& m, const Expr& k) { return m - k; }, [](int64_t m, int64_t k) { return m - k; }},
      {[](const Expr& m, const Expr& k) { return k * 9 - m; }, [](int64_t m, int64_t k) { return k * 9 - m; }},
      {[](const Expr& m, const Expr& k) { return (m + 2) * k; }, [](int64_t m, int64_t k) { return (m + 2) * k; }},
      {[](const Expr& m, const Expr& k) { return m * 5 - m * k + k; },
       [](int64_t m, int64_t k) { return m * 5 - m * k + k; }},
  };
  for (const LinearForm& form : forms) {
    Builder b;
    const Expr k = b.extent("k"), m = b.extent("m");
    b.tensor("A", f32, {k});
    b.tensor("B", f32, {form.declared(m, k)});
    std::vector<float> data(100);
    for (const int64_t wanted : {4, 5, 23}) {
      const int64_t known = 3;
      const std::vector<Argument> a = {view(data, f32, {known}), view(data, f32, {form.extent(wanted, known)})};
      EXPECT_EQ(bind_arguments(b.program, a).scalars[size_t(m.var_id())]->i, wanted)
          << "form " << &form - forms << " of " << form.extent(wanted, known);
    }
  }
}

TEST(Bind, UnsolvedExtent) {
  Builder b;
  const Expr m = b.extent("m");
  b.tensor("A", f32, {m * m});
  std::vector<float> data(4);
  const std::vector<Argument> a = {view(data, f32, {4})};
  EXPECT_EQ(report_of([&] { bind_arguments(b.program, a); }),
            "error: sample: the extent m does not follow from the arguments\n"
            "  note: m  extent  declared at kernel.tw:20\n"
            "  hint: use m alone as a dimension of some tensor");
}

std::string scalar_refusal(DType dtype, Argument value) {
  Builder b;
  b.scalar("x", dtype);
  const std::vector<Argument> a = {std::move(value)};
  return report_of([&] { bind_arguments(b.program, a); });
}

TEST(Bind, Scalars) {
  EXPECT_EQ(scalar_refusal(DType::i8, int64_t(128)),
            "error: argument 1 (x): 128 is outside the range of i8\n"
            "  note: x  i8  declared at kernel.tw:20\n"
            "  hint: i8 holds -128 to 127");
  EXPECT_EQ(scalar_refusal(DType::i32, 2.5),
            "error: argument 1 (x): the value is 2.5, but i32 is an integer dtype\n"
            "  note: x  i32  declared at kernel.tw:20\n"
            "  hint: pass an integer");
  EXPECT_NE(scalar_refusal(DType::u64, int64_t(-1)).find("-1 is outside the range of u64"), std::string::npos);
  EXPECT_NE(scalar_refusal(DType::f16, 1e6).find("1000000 is outside the range of f16"), std::string::npos);
  EXPECT_NE(scalar_refusal(DType::f32, int64_t(16777217)).find("the integer 16777217 is not a value of f32"),
            std::string::npos);
  EXPECT_NE(scalar_refusal(DType::f32, TensorView{}).find("a tensor was passed, but it is a scalar"),
            std::string::npos);
  for (const DType t : {DType::f16, DType::f32, DType::f64}) {
    EXPECT_EQ(scalar_refusal(t, 0.1), "nothing was thrown");
    EXPECT_EQ(scalar_refusal(t, int64_t(3)), "nothing was thrown");
    EXPECT_EQ(scalar_refusal(t, INFINITY), "nothing was thrown");
  }
}

TEST(Bind, Workspaces) {
  Builder b;
  const Expr m = b.extent("m");
  b.tensor("A", f32, {m});
  b.tensor("W", f32, {m * 2, int_imm(3)}, TensorKind::workspace);
  std::vector<float> data(4);
  const std::vector<Argument> a = {view(data, f32, {4})};
  const BoundArguments bound = bind_arguments(b.program, a);
  ASSERT_NE(bound.tensors[1].data, nullptr);
  EXPECT_EQ(bound.tensors[1].shape, (std::vector<int64_t>{8, 3}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bound.tensors[1].data) % 64, 0u);
}

}  // namespace
}  // namespace tilewright::test
