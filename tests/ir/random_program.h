// Random programs with every construct of the IR. They are well formed for printing, not verified.
#pragma once

#include "ir/op.h"

#include <cstdint>
#include <random>
#include <span>
#include <string>

namespace tilewright::ir {

class RandomProgram {
 public:
  RandomProgram(uint32_t seed, std::span<const OpDef* const> ops) : random_(seed), ops_(ops) {}

  Program program();
  // A random expression of `dtype` over the variables defined so far and the current kernel's tiles.
  Expr expr(DType dtype, int depth);

 private:
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }
  DType dtype() { return DType(below(kNumDTypes)); }
  std::string name();
  double number();
  Expr constant(DType dtype);
  Expr leaf(DType dtype);
  Expr comparison(int depth);
  Expr function(DType dtype, int depth);
  Expr load_of(size_t row, DType dtype, int depth);
  Expr define(DType dtype);
  std::vector<Expr> exprs(int64_t count, DType dtype, int depth);

  Tensor tensor();
  Kernel kernel();
  layout::Fragment fragment();
  Tile tile();
  AttrValue attr_value();
  Attrs attrs();
  TileRef ref();
  Block block(int depth);
  Stmt stmt(int depth);
  Stmt loop(int depth);
  ExecSet exec();
  Channel channel();
  std::shared_ptr<const Schedule> schedule();
  void tables(Kernel& kernel);
  Stmt op();
  Stmt atomic();

  std::mt19937 random_;
  std::span<const OpDef* const> ops_;
  Program program_;
  Kernel* kernel_ = nullptr;
  std::vector<Expr> vars_;
};

}  // namespace tilewright::ir
