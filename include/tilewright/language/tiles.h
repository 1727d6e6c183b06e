// Tensors and tiles, elements and slices of them, and what declares them. A part of <tilewright/language.h>, which is
// the header to include.
#pragma once

#include <tilewright/language/expressions.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::lang {

struct All {};
inline constexpr All all{};  // a whole dimension in a slice

struct Slice {
  Expr begin, end;
};
inline Slice slice(const Expr& begin, const Expr& end) { return {begin, end}; }

// One subscript of A(...): an index, a slice or T::all.
class Subscript {
 public:
  template <class E>
  requires std::convertible_to<E, Expr> Subscript(const E& index, SourcePos p = SourcePos::here())
      : Subscript(Kind::index, Expr(index), Expr(0), p) {}
  Subscript(const Slice& range, SourcePos p = SourcePos::here()) : Subscript(Kind::range, range.begin, range.end, p) {}
  Subscript(All, SourcePos p = SourcePos::here()) : Subscript(Kind::whole, Expr(0), Expr(0), p) {}

  enum class Kind : uint8_t { index, range, whole };
  Kind kind;
  Expr begin, end;
  SourcePos pos;

 private:
  Subscript(Kind k, Expr b, Expr e, SourcePos p) : kind(k), begin(std::move(b)), end(std::move(e)), pos(p) {}
};

// A(i, j): an element in an expression or on the left of `=`, a head address or a slice as an operand.
class Access {
 public:
  Access(int tile, std::vector<Subscript> subscripts) : tile_(tile), subscripts_(std::move(subscripts)) {}
  Access(const Access&) = default;

  operator Expr() const;  // reads the element
  void operator=(const Expr& value) const;
  void operator=(const Access& other) const { *this = Expr(other); }
  void operator+=(const Expr& value) const { *this = Expr(*this) + value; }
  void operator-=(const Expr& value) const { *this = Expr(*this) - value; }
  void operator*=(const Expr& value) const { *this = Expr(*this) * value; }
  void operator/=(const Expr& value) const { *this = Expr(*this) / value; }

  int tile() const { return tile_; }
  const std::vector<Subscript>& subscripts() const { return subscripts_; }

 private:
  int tile_;
  std::vector<Subscript> subscripts_;
};

// A tensor in global memory or a tile on chip. Copies are handles to the same tile.
class Tile {
 public:
  explicit Tile(int id) : id_(id) {}
  template <class... S>
  requires(std::convertible_to<S, Subscript>&&...) Access operator()(const Subscript& first, const S&... rest) const {
    return Access(id_, {first, Subscript(rest, first.pos)...});
  }
  Access operator()() const { return Access(id_, {}); }  // the element of a rank-0 tile
  int id() const { return id_; }
  DType dtype(SourcePos pos = SourcePos::here()) const;
  int rank(SourcePos pos = SourcePos::here()) const;
  Expr shape(int dim, SourcePos pos = SourcePos::here()) const;

 private:
  int id_;
};

class Var;

// What a tile operation takes: a whole tile, an element or head address, a slice, or a scalar variable.
class Operand {
 public:
  Operand(const Tile& t, SourcePos p = SourcePos::here()) : tile(t.id()), pos(p) {}
  Operand(const Access& access, SourcePos p = SourcePos::here())
      : tile(access.tile()), subscripts(access.subscripts()), pos(p) {}
  Operand(const Var& v, SourcePos p = SourcePos::here());
  int tile;
  std::vector<Subscript> subscripts;
  SourcePos pos;
};

// What atomics and print take: a number, or a tile or a part of one, or a scalar variable.
class Value {
 public:
  Value(const Tile& t, SourcePos p = SourcePos::here()) : operand_(Operand(t, p)) {}
  Value(const Access& access, SourcePos p = SourcePos::here()) : operand_(Operand(access, p)) {}
  Value(const Var& v, SourcePos p = SourcePos::here()) : operand_(Operand(v, p)) {}
  template <class E>
  requires(std::convertible_to<E, Expr> && !std::convertible_to<E, Operand>) Value(const E& number)
      : number_(Expr(number)) {}

  const std::optional<Operand>& operand() const { return operand_; }
  const std::optional<Expr>& number() const { return number_; }

 private:
  std::optional<Operand> operand_;
  std::optional<Expr> number_;
};

// A mutable scalar: `v = v + 1` stores, reading it in an expression loads.
class Var {
 public:
  explicit Var(int tile) : access_(tile, {}) {}
  Var(const Var&) = default;
  operator Expr() const { return access_; }
  void operator=(const Expr& value) const { access_ = value; }
  void operator=(const Var& other) const { access_ = Expr(other); }
  void operator+=(const Expr& value) const { access_ += value; }
  void operator-=(const Expr& value) const { access_ -= value; }
  void operator*=(const Expr& value) const { access_ *= value; }

 private:
  friend class Operand;
  Access access_;
};
inline Operand::Operand(const Var& v, SourcePos p) : Operand(v.access_, p) {}

// Extents, e.g. {M, block_K}.
class Shape {
 public:
  Shape(std::initializer_list<Expr> extents) : extents_(extents) {}
  Shape(std::vector<Expr> extents) : extents_(std::move(extents)) {}
  const std::vector<Expr>& extents() const { return extents_; }

 private:
  std::vector<Expr> extents_;
};

struct TensorOptions {
  std::vector<Expr> strides = {};  // in elements, one per dimension; empty: contiguous row-major
  double safe_value = 0;           // what a read outside the shape yields
};

// Declared before the first T::Kernel. Arguments of a launch are tensors and scalars in declaration order.
Tile tensor(const std::string& name, const Shape& shape, DType dtype, const TensorOptions& options = {},
            SourcePos pos = SourcePos::here());
Expr scalar(const std::string& name, DType dtype, SourcePos pos = SourcePos::here());
// An extent known at launch: solved from the shapes of the tensors that use it.
Expr dynamic(const std::string& name, SourcePos pos = SourcePos::here());
// A tensor that the runtime allocates; contents are undefined at launch. Between kernels of one program.
Tile alloc_global(const Shape& shape, DType dtype, SourcePos pos = SourcePos::here());

// On-chip tiles: constant extents, contents undefined until written. Named after their order (shared_0) unless named.
Tile alloc_shared(const Shape& shape, DType dtype, const std::string& name = {}, SourcePos pos = SourcePos::here());
Tile alloc_fragment(const Shape& shape, DType dtype, const std::string& name = {}, SourcePos pos = SourcePos::here());
Tile alloc_local(const Shape& shape, DType dtype, const std::string& name = {}, SourcePos pos = SourcePos::here());
// Who has a tile: the block together, or each warp a copy of its own (only with thread-level code, which is not built).
enum class Owner : uint8_t { block, warp };
inline constexpr Owner per_block = Owner::block, per_warp = Owner::warp;
struct TileOptions {
  std::string name = {};
  Owner owner = per_block;
};
Tile alloc_shared(const Shape& shape, DType dtype, const TileOptions& options, SourcePos pos = SourcePos::here());
Tile alloc_fragment(const Shape& shape, DType dtype, const TileOptions& options, SourcePos pos = SourcePos::here());
Tile alloc_local(const Shape& shape, DType dtype, const TileOptions& options, SourcePos pos = SourcePos::here());
Var alloc_var(DType dtype, const Expr& init, SourcePos pos = SourcePos::here());
Var alloc_var(DType dtype, SourcePos pos = SourcePos::here());

// From here to the end of the enclosing block the condition holds: what the author knows and the compiler cannot.
// Checked where it stands; a condition that does not hold ends the launch with an error.
void assume(const Expr& condition, SourcePos pos = SourcePos::here());
// The same storage by another shape: the elements in row-major order. Of on-chip tiles and contiguous tensors.
Tile reshape(const Tile& tile, const Shape& shape, SourcePos pos = SourcePos::here());
// The same bits by another shape and dtype; what is written through one is read through the other.
Tile view(const Tile& tile, const Shape& shape, DType dtype, SourcePos pos = SourcePos::here());
Tile view(const Tile& tile, const Shape& shape, SourcePos pos = SourcePos::here());
Tile view(const Tile& tile, DType dtype, SourcePos pos = SourcePos::here());  // of the same shape

// A name for the value that `value` has here.
Expr let(const Expr& value, SourcePos pos = SourcePos::here());

}  // namespace tilewright::lang
