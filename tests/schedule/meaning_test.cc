// Tables change when things happen, not what they mean: the interpreter runs the programs, and their expansions with
// what synchronises left out, and gets the products of ragged matrices.
#include "gpu/number_formats.h"
#include "ir/rewrite.h"
#include "passes/schedule_passes.h"
#include "runtime/interp/interp.h"
#include "schedule/tables.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright::testing {
namespace {

// Without operations that have no meaning of their own; roles one after the other, the later ones first, which is right
// where no buffer is used twice.
class Sequential : public ir::Rewriter {
 public:
  using Rewriter::rewrite;
  ir::Block rewrite(const ir::Block& block) override {
    ir::Block out;
    for (const ir::Stmt& stmt : block) rewrite(stmt, out);
    return out;
  }
  void rewrite(const ir::Stmt& stmt, ir::Block& out) override {
    const auto* op = ir::get_if<ir::OpStmt>(stmt);
    if (op && op->def->expand == nullptr) return;
    if (const auto* role = ir::get_if<ir::RoleStmt>(stmt)) {
      const ir::Block body = rewrite(role->body);
      out.insert(out.begin(), body.begin(), body.end());
      return;
    }
    Rewriter::rewrite(stmt, out);
  }
};

ir::Program sequential(const ir::Program& program) {
  ir::Program out = passes::expand_schedule(program);
  out.kernels[0].body = Sequential().rewrite(out.kernels[0].body);
  return out;
}

// Small integers, which f16 and its sums hold exactly.
int value(int tensor, int64_t row, int64_t col) { return int((row * 7 + col * 3 + tensor * 5) % 5) - 2; }

void expect_product(const ir::Program& program, const Product& p) {
  const auto matrix = [](int tensor, int64_t rows, int64_t cols) {
    std::vector<uint16_t> out;
    for (int64_t i = 0; i < rows * cols; ++i) {
      out.push_back(uint16_t(test::encode(test::kF16, value(tensor, i / cols, i % cols))));
    }
    return out;
  };
  std::vector<uint16_t> a = matrix(0, p.m, p.k), b = p.transpose_b ? matrix(1, p.n, p.k) : matrix(1, p.k, p.n);
  std::vector<uint16_t> c(size_t(p.m * p.n), 0x7c01);
  const auto view = [](std::vector<uint16_t>& data, int64_t rows, int64_t cols) {
    return TensorView{.data = data.data(), .dtype = DType::f16, .shape = {rows, cols}};
  };
  const std::vector<Argument> arguments = {view(a, p.m, p.k), p.transpose_b ? view(b, p.n, p.k) : view(b, p.k, p.n),
                                           view(c, p.m, p.n)};
  interpret(program, arguments);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      int want = 0;
      for (int64_t l = 0; l < p.k; ++l) want += value(0, i, l) * (p.transpose_b ? value(1, j, l) : value(1, l, j));
      ASSERT_EQ(test::decode(test::kF16, c[size_t(i * p.n + j)]), p.rounds * want) << i << " " << j;
    }
  }
}

TEST(ScheduleMeaning, IsThatOfTheProgram) {
  for (const int64_t k : {0, 5, 16, 40}) {
    for (const bool transpose : {false, true}) {
      Product p{.m = 70, .n = 20, .k = k, .block_m = 64, .block_n = 16, .block_k = 16, .stages = 4, .groups = 1};
      p.transpose_b = transpose;
      SCOPED_TRACE(fmt::format("k = {}{}", k, transpose ? ", B [n, k]" : ""));
      expect_product(cp_async_product(p), p);
      expect_product(wgmma_product(p), p);
      expect_product(sequential(wgmma_product(p)), p);
      for (int stages = 1; stages <= 5; ++stages) {
        p.stages = stages;
        expect_product(sequential(cp_async_product(p)), p);
      }
      p.rounds = 3;
      expect_product(sequential(cp_async_product(p)), p);
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
