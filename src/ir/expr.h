// Pure scalar expressions.
//
// An Expr is a shared, immutable, hashed node {kind, dtype, value, args, loc}. Constructors check dtypes, fold
// constants and order commutative operands, so that equal expressions built in different ways mostly coincide.
// Expressions have no side effects; loads read the tile at the moment the enclosing statement runs.
//
// Arithmetic is total, the same on every backend:
//   integers   wrap modulo 2^bits; floordiv and floormod round towards minus infinity; x floordiv 0 = 0 and
//              x floormod 0 = x; a shift by an amount outside [0, bits) gives 0 (or the sign, for a signed shr).
//   floats     every operation converts its result to its dtype, as cast does.
//   min, max   ignore a NaN operand (both NaN: NaN); the sign of a zero result is free.
//   cast       float -> integer truncates and saturates, NaN gives 0; integer -> integer wraps; to bool is "!= 0";
//              float -> float rounds to nearest even, subnormals kept; beyond the largest finite value it gives
//              infinity, but the largest finite value for f8e4m3 and f8e5m2, also of an infinity.
//   select     evaluates only the chosen side.
//   and, or    evaluate both sides (all operands are pure and total).
#pragma once

#include <tilewright/dtype.h>
#include <tilewright/error.h>

#include "ir/math_fn.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

enum class ExprKind : uint8_t {
  int_imm,    // value.i; dtype integer or bool
  float_imm,  // value.f, already rounded to dtype
  var,        // value.i is the id, unique in the program; name is for people
  load,       // value.i is the tile id; args are the element's coordinates; name is the tile's
  add,
  sub,
  mul,
  div,  // floats only
  floordiv,
  floormod,  // integers only
  min,
  max,
  eq,
  ne,
  lt,
  le,  // bool; operands of one dtype (gt and ge are lt and le with operands exchanged)
  logical_and,
  logical_or,
  logical_not,  // bool
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,          // integers
  select,       // args = {condition, then, otherwise}
  cast,         // to dtype
  reinterpret,  // the bytes in memory read as dtype, which has as many; the payload of a NaN is free
  call,         // value.i is a MathFn; all args are evaluated
};

std::string_view to_string(ExprKind kind);

using VarId = int32_t;
using TileId = int32_t;

// Loop variables, block indices and extents are of this type; codegen narrows where ranges allow.
inline constexpr DType kIndex = DType::i64;

struct ExprNode;

class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  const std::shared_ptr<const ExprNode>& node() const { return node_; }

  ExprKind kind() const;
  DType dtype() const;
  const Loc& loc() const;
  std::span<const Expr> args() const;
  const Expr& arg(size_t i) const;
  bool is(ExprKind kind) const { return node_ && this->kind() == kind; }
  // The value of an integer (or bool) constant.
  std::optional<int64_t> as_int() const;
  bool is_int(int64_t value) const { return as_int() == value; }
  VarId var_id() const;    // of a var
  TileId tile_id() const;  // of a load

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  ExprKind kind;
  DType dtype;
  int64_t i = 0;
  double f = 0;
  std::string name;
  std::vector<Expr> args;
  Loc loc;
  uint64_t hash = 0;
  int32_t height = 1;  // of the tree, and its nodes, a shared one counted each time; both saturate
  int32_t size = 1;
};

// Structural equality; positions and names are ignored.
bool equal(const Expr& a, const Expr& b);
bool equal(std::span<const Expr> a, std::span<const Expr> b);

// ---- constructors. Each throws Error{invalid_kernel} at `loc` when operand dtypes do not fit. ----
Expr int_imm(int64_t value, DType dtype = kIndex, Loc loc = {});  // wraps to dtype
Expr bool_imm(bool value, Loc loc = {});
Expr float_imm(double value, DType dtype, Loc loc = {});  // rounds to dtype; an infinity that dtype has stays
Expr imm(double value, DType dtype, Loc loc = {});        // int_imm or float_imm by dtype
Expr var(VarId id, std::string name, DType dtype = kIndex, Loc loc = {});
Expr load(TileId tile, std::string name, DType dtype, std::vector<Expr> indices, Loc loc = {});
// Any binary kind. Operands must have one dtype, as `promote` makes them.
Expr binary(ExprKind kind, Expr a, Expr b, Loc loc = {});
Expr logical_not(Expr a, Loc loc = {});
Expr select(Expr condition, Expr then, Expr otherwise, Loc loc = {});
Expr cast(Expr value, DType dtype, Loc loc = {});
Expr reinterpret(Expr value, DType dtype, Loc loc = {});
// Operands as MathFn's row says.
Expr call(MathFn fn, std::vector<Expr> args, Loc loc = {});
Expr call(MathFn fn, Expr value, Loc loc = {});

// The dtype in which an operation on `a` and `b` is done: equal dtypes stay; float with integer gives the float;
// of two floats the wider, f32 for two of equal width; of two integers the wider, at equal width the unsigned one.
DType promote(DType a, DType b);

// Index arithmetic on kIndex operands, with constants.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator+(const Expr& a, int64_t b);
Expr operator-(const Expr& a, int64_t b);
Expr operator*(const Expr& a, int64_t b);
Expr floordiv(const Expr& a, const Expr& b);
Expr floordiv(const Expr& a, int64_t b);
Expr floormod(const Expr& a, const Expr& b);
Expr floormod(const Expr& a, int64_t b);
Expr ceildiv(const Expr& a, const Expr& b);
Expr lt(const Expr& a, const Expr& b);
Expr le(const Expr& a, const Expr& b);
Expr logical_and(const Expr& a, const Expr& b);

// The node with other arguments (canonicalised again); same kind, dtype, value, loc.
Expr with_args(const Expr& e, std::vector<Expr> args);

// The node with `f` applied to each argument; `e` itself when no argument changes.
template <class F>
Expr map_args(const Expr& e, F f) {
  std::vector<Expr> args;
  bool changed = false;
  for (const Expr& a : e.args()) {
    args.push_back(f(a));
    changed |= &*args.back() != &*a;
  }
  return changed ? with_args(e, std::move(args)) : e;
}

bool is_commutative(ExprKind kind);
bool is_comparison(ExprKind kind);
bool is_binary(ExprKind kind);

// Wraps an integer to the range of `dtype` (two's complement).
int64_t wrap_to(DType dtype, int64_t value);
int64_t floordiv_value(int64_t a, int64_t b);
int64_t floormod_value(int64_t a, int64_t b);
// Integer `a kind b` in `dtype` by the rules above; comparisons give 0 or 1.
int64_t eval_int_binary(ExprKind kind, DType dtype, int64_t a, int64_t b);

}  // namespace tilewright::ir
