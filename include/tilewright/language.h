// The language: everything a kernel author needs, in one header.
//
//   namespace T = tilewright::lang;
//   T::Program p = T::prim_func("name", [&] { ...tensors, then T::Kernel, then tile statements... });
//
// Statements are recorded, not run: `C(i, j) = T::max(C(i, j), 0)` adds a store to the kernel being built. Expressions
// are values; an element `A(i, j)` used in an expression is read where the statement that uses it runs (T::let reads
// it at once). Every call records the author's line, so that errors point at it. Wrong calls throw
// tilewright::Error at the line that breaks the rule. docs/language.md is the reference.
#pragma once

#include <tilewright/dtype.h>
#include <tilewright/error.h>
#include <tilewright/program.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tilewright::ir {
struct ExprNode;
}

namespace tilewright::lang {

using tilewright::Program;

inline constexpr DType f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16;
inline constexpr DType tf32 = DType::tf32, f8e4m3 = DType::f8e4m3, f8e5m2 = DType::f8e5m2;
inline constexpr DType i8 = DType::i8, i16 = DType::i16, i32 = DType::i32, i64 = DType::i64;
inline constexpr DType u8 = DType::u8, u16 = DType::u16, u32 = DType::u32, u64 = DType::u64;
inline constexpr DType boolean = DType::boolean;

// Where a call stands in the author's source; a default argument everywhere, never passed by hand.
struct SourcePos {
  const char* file;
  int line;
  static constexpr SourcePos here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// ---- expressions -----------------------------------------------------------------------------------------------

// A scalar expression. C++ numbers convert to it and take the dtype of what they are combined with.
class Expr {
 public:
  template <std::integral I>
  Expr(I value) : Expr(integer(static_cast<int64_t>(value), std::is_same_v<I, bool>)) {}
  template <std::floating_point F>
  Expr(F value) : Expr(floating(static_cast<double>(value))) {}
  Expr(std::shared_ptr<const ir::ExprNode> node, bool literal) : node_(std::move(node)), literal_(literal) {}

  const std::shared_ptr<const ir::ExprNode>& node() const { return node_; }
  // A C++ number, or arithmetic on such: has no dtype of its own yet.
  bool is_literal() const { return literal_; }
  DType dtype() const;

 private:
  static Expr integer(int64_t value, bool is_bool);
  static Expr floating(double value);

  std::shared_ptr<const ir::ExprNode> node_;
  bool literal_ = false;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
// Floats: division. Integers: floor division, as `floordiv`.
Expr operator/(const Expr& a, const Expr& b);
// Integers: floor modulo; (a / b) * b + a % b == a.
Expr operator%(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);
Expr operator!=(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator&&(const Expr& a, const Expr& b);  // both sides are evaluated
Expr operator||(const Expr& a, const Expr& b);
Expr operator!(const Expr& a);
Expr operator&(const Expr& a, const Expr& b);
Expr operator|(const Expr& a, const Expr& b);
Expr operator^(const Expr& a, const Expr& b);
Expr operator<<(const Expr& a, const Expr& b);
Expr operator>>(const Expr& a, const Expr& b);

Expr ceildiv(const Expr& a, const Expr& b);
Expr floordiv(const Expr& a, const Expr& b);
Expr floormod(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);  // a NaN operand is ignored
Expr min(const Expr& a, const Expr& b);
// Only the chosen side is evaluated, so a guard protects a read.
Expr if_then_else(const Expr& condition, const Expr& then, const Expr& otherwise);
// One of two values, both of which are evaluated: guards nothing.
Expr select(const Expr& condition, const Expr& then, const Expr& otherwise);
Expr clamp(const Expr& x, const Expr& low, const Expr& high);  // a NaN gives `low`
Expr cast(const Expr& value, DType dtype);
Expr reinterpret(const Expr& value, DType dtype);  // the same bits, of equal size
Expr infinity(DType dtype);
Expr max_value(DType dtype);  // the largest integer, or the largest finite number
Expr min_value(DType dtype);

// Conditions. The tests are of a float.
Expr isnan(const Expr& x);
Expr isinf(const Expr& x);
Expr isfinite(const Expr& x);
Expr likely(const Expr& condition);  // the condition; says which way it mostly goes
// Of several conditions; of a tile or slice they are among the reductions below.
template <class... E>
requires(sizeof...(E) > 0 && (std::convertible_to<E, Expr> && ...)) Expr all_of(const Expr& first, const E&... others) {
  return (first && ... && Expr(others));
}
template <class... E>
requires(sizeof...(E) > 0 && (std::convertible_to<E, Expr> && ...)) Expr any_of(const Expr& first, const E&... others) {
  return (first || ... || Expr(others));
}

// Integers.
Expr truncdiv(const Expr& a, const Expr& b);   // towards zero
Expr truncmod(const Expr& a, const Expr& b);   // a - truncdiv(a, b) * b
Expr align_up(const Expr& x, const Expr& to);  // the next multiple
Expr shift_left(const Expr& a, const Expr& b);
Expr shift_right(const Expr& a, const Expr& b);
Expr bitwise_and(const Expr& a, const Expr& b);
Expr bitwise_or(const Expr& a, const Expr& b);
Expr bitwise_xor(const Expr& a, const Expr& b);
Expr bitwise_not(const Expr& x);
Expr popcount(const Expr& x);  // bits that are 1
Expr clz(const Expr& x);       // zeros above the highest 1; all bits for 0

// Functions of floats; abs also of integers. docs/language.md has their errors.
Expr abs(const Expr& x);
Expr exp(const Expr& x);
Expr exp2(const Expr& x);
Expr exp10(const Expr& x);
Expr expm1(const Expr& x);
Expr log(const Expr& x);
Expr log2(const Expr& x);
Expr log10(const Expr& x);
Expr log1p(const Expr& x);
Expr sqrt(const Expr& x);
Expr rsqrt(const Expr& x);
Expr sin(const Expr& x);
Expr cos(const Expr& x);
Expr tan(const Expr& x);
Expr sinh(const Expr& x);
Expr cosh(const Expr& x);
Expr tanh(const Expr& x);
Expr asin(const Expr& x);
Expr acos(const Expr& x);
Expr atan(const Expr& x);
Expr asinh(const Expr& x);
Expr acosh(const Expr& x);
Expr atanh(const Expr& x);
Expr erf(const Expr& x);
Expr sigmoid(const Expr& x);
Expr floor(const Expr& x);
Expr ceil(const Expr& x);
Expr round(const Expr& x);      // to nearest even
Expr nearbyint(const Expr& x);  // the same
Expr trunc(const Expr& x);
Expr atan2(const Expr& y, const Expr& x);
Expr pow(const Expr& x, const Expr& y);
Expr hypot(const Expr& x, const Expr& y);
Expr fmod(const Expr& x, const Expr& y);  // x - trunc(x / y) * y, exactly
Expr copysign(const Expr& magnitude, const Expr& sign);
Expr nextafter(const Expr& x, const Expr& to);  // the neighbouring number of the dtype
Expr ldexp(const Expr& x, const Expr& n);       // x * 2^n for an integer n

// Where a target has faster, less exact instructions they are taken.
Expr exp_fast(const Expr& x);
Expr exp10_fast(const Expr& x);
Expr log_fast(const Expr& x);
Expr log2_fast(const Expr& x);
Expr log10_fast(const Expr& x);
Expr sin_fast(const Expr& x);
Expr cos_fast(const Expr& x);
Expr tan_fast(const Expr& x);
Expr fast_rcp(const Expr& x);

// Rounded once, and never fused with another operation. The last argument says how: "rn" is to nearest even; "rz", "ru"
// and "rd" are not built.
Expr ieee_add(const Expr& a, const Expr& b, std::string_view rounding = "rn");
Expr ieee_sub(const Expr& a, const Expr& b, std::string_view rounding = "rn");
Expr ieee_mul(const Expr& a, const Expr& b, std::string_view rounding = "rn");
Expr ieee_fdiv(const Expr& a, const Expr& b, std::string_view rounding = "rn");
Expr ieee_fmaf(const Expr& a, const Expr& b, const Expr& c, std::string_view rounding = "rn");  // a b + c; f32, f64
Expr ieee_frcp(const Expr& x, std::string_view rounding = "rn");                                // 1 / x
Expr ieee_fsqrt(const Expr& x, std::string_view rounding = "rn");
Expr ieee_frsqrt(const Expr& x, std::string_view rounding = "rn");  // 1 / sqrt(x); f32

// ---- tiles -----------------------------------------------------------------------------------------------------

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

// ---- kernels ---------------------------------------------------------------------------------------------------

// The threads of a block: a number, or 1 to 3 extents x, y, z. 1 to 1024 together.
class Threads {
 public:
  Threads(int count) : extents_{count} {}
  Threads(std::initializer_list<int> extents) : extents_(extents) {}
  const std::vector<int>& extents() const { return extents_; }

 private:
  std::vector<int> extents_;
};

struct KernelOptions {
  Threads threads = 128;
};

// Of the open kernel: a block's index and the grid's extent, and the threads of a block in one of their dimensions
// (1 where they have fewer).
Expr get_block_binding(int dim = 0, SourcePos pos = SourcePos::here());
Expr get_block_extent(int dim = 0, SourcePos pos = SourcePos::here());
int get_thread_extent(int dim = 0, SourcePos pos = SourcePos::here());

namespace detail {
int open_kernel(std::vector<Expr> grid, const KernelOptions& options, SourcePos pos);
void close_kernel(int depth) noexcept;
Expr block_var(int dim);

enum LoopKindTag : int { kSerial = 0, kUnrolled = 1, kVectorized = 2, kPipelined = 3, kParallel = 4 };

// The name and value of an option, as src/ir/loop_options.h has them.
using LoopOption = std::pair<std::string, std::variant<bool, int64_t, double, std::string>>;
struct LoopSpec {
  LoopKindTag kind = kSerial;
  std::vector<Expr> begin, extent;
  int64_t step = 1;
  std::vector<LoopOption> options = {};
};

// Each opens one loop or several, and returns the depth of the outermost.
int open_loop(const LoopSpec& spec, SourcePos pos);
int open_grid(const std::vector<Expr>& extents, SourcePos pos);
int open_persistent(const std::vector<Expr>& domain, const Expr& wave_size, const Expr& index, int group_size,
                    SourcePos pos);
void close_loop(int depth);
void abandon_loop(int depth) noexcept;
Expr loop_var(int depth, int dim);

void open_if(const Expr& condition, SourcePos pos);
void open_else(SourcePos pos);
void close_if();
void open_while(const Expr& condition, SourcePos pos);
void close_while();
// The body of a branch or while was left by an exception.
void abandon_body() noexcept;

void begin_program(const std::string& name, SourcePos pos);
Program end_program();
void abandon_program() noexcept;
}  // namespace detail

// Opens a kernel over a grid of blocks; `auto [bx, by] = T::Kernel({gx, gy})`. Closes at the end of the C++ block.
template <size_t N>
class [[nodiscard]] KernelScope {
 public:
  KernelScope(std::vector<Expr> grid, const KernelOptions& options, SourcePos pos)
      : depth_(detail::open_kernel(std::move(grid), options, pos)) {}
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;
  ~KernelScope() { detail::close_kernel(depth_); }

  template <size_t I>
  Expr get() const {
    return detail::block_var(static_cast<int>(I));
  }

 private:
  int depth_;
};

template <size_t N>
requires(N >= 1 && N <= 3) KernelScope<N> Kernel(const Expr (&grid)[N], const KernelOptions& options = {},
                                                 SourcePos pos = SourcePos::here()) {
  return KernelScope<N>(std::vector<Expr>(grid, grid + N), options, pos);
}

// ---- loops and branches ----------------------------------------------------------------------------------------

namespace detail {

// A range that runs its body once, between opening and closing loops of the kernel.
template <size_t N>
class [[nodiscard]] LoopRange {
 public:
  // `open` opens them and returns the depth of the outermost.
  explicit LoopRange(std::function<int()> open) : open_(std::move(open)) {}
  LoopRange(const LoopRange&) = delete;
  LoopRange& operator=(const LoopRange&) = delete;
  ~LoopRange() {
    if (depth_ >= 0) abandon_loop(depth_);  // left by a C++ break, return or exception
  }

  struct End {};
  class Iterator {
   public:
    explicit Iterator(LoopRange* range) : range_(range) {}
    auto operator*() const {
      if constexpr (N == 1) {
        return loop_var(range_->depth_, 0);
      } else {
        return [this]<size_t... I>(std::index_sequence<I...>) {
          return std::array<Expr, N>{loop_var(range_->depth_, static_cast<int>(I))...};
        }
        (std::make_index_sequence<N>());
      }
    }
    void operator++() {
      close_loop(range_->depth_);
      range_->depth_ = -1;
    }
    bool operator!=(End) const { return range_->depth_ >= 0; }

   private:
    LoopRange* range_;
  };
  Iterator begin() {
    depth_ = open_();
    return Iterator(this);
  }
  End end() const { return {}; }

 private:
  std::function<int()> open_;
  int depth_ = -1;
};

// An extent that remembers where it was written: the first argument of a variadic call.
struct Extent {
  template <class E>
  requires std::convertible_to<E, Expr> Extent(const E& e, SourcePos p = SourcePos::here()) : value(e), pos(p) {}
  Expr value;
  SourcePos pos;
};

}  // namespace detail

// Independent iterations over all index tuples: `for (auto [i, j] : T::Parallel(m, n))`, `for (auto i :
// T::Parallel(m))`.
template <class... E>
requires(std::convertible_to<E, Expr>&&...) detail::LoopRange<1 + sizeof...(E)> Parallel(const detail::Extent& first,
                                                                                         const E&... rest) {
  constexpr size_t kRank = 1 + sizeof...(E);
  const detail::LoopSpec spec{
      .kind = detail::kParallel, .begin = std::vector<Expr>(kRank, Expr(0)), .extent = {first.value, Expr(rest)...}};
  return detail::LoopRange<kRank>([spec, pos = first.pos] { return detail::open_loop(spec, pos); });
}

// The same with options: `T::Parallel({m, n}, {.coalesced_width = 4})`.
struct ParallelOptions {
  std::optional<int> coalesced_width = {};  // elements of one vector access, a divisor of the innermost extent
};
template <size_t N>
detail::LoopRange<N> Parallel(const Expr (&extents)[N], const ParallelOptions& options,
                              SourcePos pos = SourcePos::here()) {
  detail::LoopSpec spec{.kind = detail::kParallel,
                        .begin = std::vector<Expr>(N, Expr(0)),
                        .extent = std::vector<Expr>(extents, extents + N)};
  if (options.coalesced_width) spec.options = {{"coalesced_width", int64_t(*options.coalesced_width)}};
  return detail::LoopRange<N>([spec, pos] { return detail::open_loop(spec, pos); });
}

// Serial loops, one in the other: `for (auto [i, j] : T::grid(m, n))`. loop_break leaves the innermost.
template <class... E>
requires(std::convertible_to<E, Expr>&&...) detail::LoopRange<1 + sizeof...(E)> grid(const detail::Extent& first,
                                                                                     const E&... rest) {
  const std::vector<Expr> extents = {first.value, Expr(rest)...};
  return detail::LoopRange<1 + sizeof...(E)>([extents, pos = first.pos] { return detail::open_grid(extents, pos); });
}

detail::LoopRange<1> serial(const Expr& stop, SourcePos pos = SourcePos::here());
// start, start + step, ... while before stop (after it for a negative step).
detail::LoopRange<1> serial(const Expr& start, const Expr& stop, int64_t step = 1, SourcePos pos = SourcePos::here());

struct UnrollOptions {
  bool explicit_ = false;          // the compiler expands every iteration
  std::optional<int> factor = {};  // that many iterations at a time, 1 or more; not with explicit_
};
detail::LoopRange<1> unroll(const Expr& stop, SourcePos pos = SourcePos::here());
detail::LoopRange<1> unroll(const Expr& stop, const UnrollOptions& options, SourcePos pos = SourcePos::here());
detail::LoopRange<1> unroll(const Expr& start, const Expr& stop, int64_t step = 1, SourcePos pos = SourcePos::here());
detail::LoopRange<1> unroll(const Expr& start, const Expr& stop, int64_t step, const UnrollOptions& options,
                            SourcePos pos = SourcePos::here());

// serial, with the wish for vector code.
detail::LoopRange<1> vectorized(const Expr& stop, SourcePos pos = SourcePos::here());
detail::LoopRange<1> vectorized(const Expr& start, const Expr& stop, SourcePos pos = SourcePos::here());

struct PipelineOptions {
  int num_stages = 0;  // buffers of the staged tiles; 0 and 1: no overlap
  // A schedule by hand: for each statement of the body its position (a permutation) and its stage. Both or none.
  std::vector<int> order = {}, stage = {};
  // Statements, by number, that are synchronised, or issued, together.
  std::vector<std::vector<int>> sync = {}, group = {};
};
detail::LoopRange<1> Pipelined(const Expr& stop, const PipelineOptions& options = {},
                               SourcePos pos = SourcePos::here());
detail::LoopRange<1> Pipelined(const Expr& start, const Expr& stop, const PipelineOptions& options = {},
                               SourcePos pos = SourcePos::here());

// The points of `domain` that fall to one of `wave_size` persistent blocks, this one being number `index`, in waves:
// `for (auto [m, n] : T::Persistent({tiles_m, tiles_n}, num_blocks, bx))`. With last the extent of the last dimension
// and g = max(1, min(group_size, last)), all points are numbered in the order (last / g, other dimensions, last % g),
// where last is rounded up to a multiple of g; the loop visits numbers index, index + wave_size, ... that are points.
struct PersistentOptions {
  int group_size = 8;
};
template <size_t N>
detail::LoopRange<N> Persistent(const Expr (&domain)[N], const Expr& wave_size, const Expr& index,
                                const PersistentOptions& options = {}, SourcePos pos = SourcePos::here()) {
  const std::vector<Expr> extents(domain, domain + N);
  return detail::LoopRange<N>([extents, wave_size, index, options, pos] {
    return detail::open_persistent(extents, wave_size, index, options.group_size, pos);
  });
}

namespace detail {

// Runs the body of a branch or while. An exception that leaves it leaves a frame open, which is noted.
template <class F>
void run_body(F&& body) {
  struct Abandon {
    bool armed = true;
    ~Abandon() {
      if (armed) abandon_body();
    }
  } guard;
  std::forward<F>(body)();
  guard.armed = false;
}

}  // namespace detail

class IfScope {
 public:
  template <class F>
  void else_(F&& body, SourcePos pos = SourcePos::here()) && {
    detail::open_else(pos);
    detail::run_body(std::forward<F>(body));
    detail::close_if();
  }
};

template <class F>
IfScope if_(const Expr& condition, F&& body, SourcePos pos = SourcePos::here()) {
  detail::open_if(condition, pos);
  detail::run_body(std::forward<F>(body));
  detail::close_if();
  return {};
}

template <class F>
void while_(const Expr& condition, F&& body, SourcePos pos = SourcePos::here()) {
  detail::open_while(condition, pos);
  detail::run_body(std::forward<F>(body));
  detail::close_while();
}

void loop_break(SourcePos pos = SourcePos::here());
void loop_continue(SourcePos pos = SourcePos::here());

// ---- tile operations -------------------------------------------------------------------------------------------

// dst = cast(src). Parts outside a tensor read as its safe value and are not written.
void copy(const Operand& src, const Operand& dst, SourcePos pos = SourcePos::here());
void fill(const Operand& dst, const Expr& value, SourcePos pos = SourcePos::here());
void clear(const Operand& dst, SourcePos pos = SourcePos::here());
// dst[..., j, i] = cast(src[..., i, j]).
void transpose(const Operand& src, const Operand& dst, SourcePos pos = SourcePos::here());
// dst[i, ...] = cast(src[index[i], ...]). An index outside reads a tensor's safe value, and is an error on chip.
void gather(const Operand& src, const Operand& index, const Operand& dst, SourcePos pos = SourcePos::here());

enum class WarpPolicy : uint8_t { Square, FullRow, FullCol };
inline constexpr WarpPolicy Square = WarpPolicy::Square, FullRow = WarpPolicy::FullRow, FullCol = WarpPolicy::FullCol;

struct GemmOptions {
  bool transpose_A = false;  // A is stored [k, m]
  bool transpose_B = false;  // B is stored [n, k]
  WarpPolicy policy = Square;
  Expr clear_accum = false;  // zero C first; may be a condition, e.g. ko == 0
  int k_pack = 1;
};
// C[m, n] += op(A)[m, k] op(B)[k, n].
void gemm(const Operand& A, const Operand& B, const Operand& C, const GemmOptions& options = {},
          SourcePos pos = SourcePos::here());

struct ReduceOptions {
  int dim = -1;                          // of src, counted from the end if negative
  bool clear = true;                     // false: combine with what dst holds
  int batch = 1;                         // results that share one synchronisation; the same results
  bool nan_propagate = false;            // max, min, absmax: NaN gives NaN, instead of being ignored
  std::optional<DType> accumulate = {};  // instead of the widest of src, dst and f32 (integers: dst)
};
namespace detail {
void reduce(std::string_view word, const Operand& src, const Operand& dst, const ReduceOptions& options, SourcePos pos);
}  // namespace detail

// dst = reduce(src) along one dimension, which dst lacks or has with extent 1.
inline void reduce_sum(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                       SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_sum", src, dst, options, pos);
}
inline void reduce_prod(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                        SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_prod", src, dst, options, pos);
}
inline void reduce_max(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                       SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_max", src, dst, options, pos);
}
inline void reduce_min(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                       SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_min", src, dst, options, pos);
}
inline void reduce_abssum(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                          SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_abssum", src, dst, options, pos);
}
inline void reduce_absmax(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                          SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_absmax", src, dst, options, pos);
}
// Integers, or booleans.
inline void reduce_bitand(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                          SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_bitand", src, dst, options, pos);
}
inline void reduce_bitor(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                         SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_bitor", src, dst, options, pos);
}
inline void reduce_bitxor(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                          SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_bitxor", src, dst, options, pos);
}
// Whether some (every) element is not 0, into booleans.
inline void reduce_any(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                       SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_any", src, dst, options, pos);
}
inline void reduce_all(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                       SourcePos pos = SourcePos::here()) {
  detail::reduce("reduce_all", src, dst, options, pos);
}

// Whether some (every) element of a tile or slice, as it is here, is not 0. Also inside T::Parallel.
Expr any_of(const Operand& region, SourcePos pos = SourcePos::here());
Expr all_of(const Operand& region, SourcePos pos = SourcePos::here());

struct ScanOptions {
  int dim = 0;                           // of src, counted from the end if negative
  bool reverse = false;                  // from the last element to the first
  bool nan_propagate = false;            // cummax: as for reduce_max
  std::optional<DType> accumulate = {};  // as for a reduction
};
// Each element of dst is the sum (maximum) of the elements of src up to its place. Without dst: in place.
void cumsum(const Operand& src, const Operand& dst, const ScanOptions& options = {}, SourcePos pos = SourcePos::here());
void cumsum(const Operand& tile, const ScanOptions& options = {}, SourcePos pos = SourcePos::here());
void cummax(const Operand& src, const Operand& dst, const ScanOptions& options = {}, SourcePos pos = SourcePos::here());
void cummax(const Operand& tile, const ScanOptions& options = {}, SourcePos pos = SourcePos::here());

struct AtomicOptions {
  std::string memory_order = "relaxed";  // or consume, acquire, release, acq_rel, seq_cst
  bool return_prev = false;              // of a single element: hand out the value from before
  bool use_tma = false;                  // a wish for targets with bulk reductions; changes nothing in the result
};
// What an atomic hands out: the value from before, which only {.return_prev = true} has.
class Previous {
 public:
  Previous() = default;
  explicit Previous(Expr value) : value_(std::move(value)) {}
  operator Expr() const;

 private:
  std::optional<Expr> value_;
};
// Updates that no other thread or block comes between. dst is an element, also inside T::Parallel, or a tile or a part
// of one, and value one number or the elements of a tile. dst is in global or shared memory.
Previous atomic_add(const Operand& dst, const Value& value, const AtomicOptions& options = {},
                    SourcePos pos = SourcePos::here());
Previous atomic_max(const Operand& dst, const Value& value, const AtomicOptions& options = {},
                    SourcePos pos = SourcePos::here());
Previous atomic_min(const Operand& dst, const Value& value, const AtomicOptions& options = {},
                    SourcePos pos = SourcePos::here());
Previous atomic_or(const Operand& dst, const Value& value, const AtomicOptions& options = {},
                   SourcePos pos = SourcePos::here());
Previous atomic_and(const Operand& dst, const Value& value, const AtomicOptions& options = {},
                    SourcePos pos = SourcePos::here());
Previous atomic_xor(const Operand& dst, const Value& value, const AtomicOptions& options = {},
                    SourcePos pos = SourcePos::here());
// Two (f16, bf16, f32) or four (f32) neighbours in the last dimension, from dst and value on; each is one atomic_add.
void atomic_addx2(const Access& dst, const Access& value, const AtomicOptions& options = {},
                  SourcePos pos = SourcePos::here());
void atomic_addx4(const Access& dst, const Access& value, const AtomicOptions& options = {},
                  SourcePos pos = SourcePos::here());
// One element.
Expr atomic_load(const Access& src, const std::string& memory_order = "seq_cst", SourcePos pos = SourcePos::here());
void atomic_store(const Access& dst, const Expr& value, const std::string& memory_order = "seq_cst",
                  SourcePos pos = SourcePos::here());

// Writes a number, or the first 256 elements of a tile, with a message to the standard output (CompileOptions::on_print
// takes it elsewhere): docs/language.md has the format. Also inside T::Parallel for numbers.
void print(const Value& value, const std::string& message = {}, SourcePos pos = SourcePos::here());
void print(const std::string& message, SourcePos pos = SourcePos::here());
// Ends the launch with an error where the condition is false. Also inside T::Parallel.
void device_assert(const Expr& condition, const std::string& message = {}, SourcePos pos = SourcePos::here());

enum class Order : uint8_t { row, col };
inline constexpr Order row = Order::row, col = Order::col, column = Order::col;
struct SwizzleOptions {
  Order order = Order::row;
  bool enable = true;  // false: as if the call were not there
};
// Visits blocks in panels of `panel_size` rows (columns) of the grid; results do not change. At most once, at the top
// level of a kernel.
void use_swizzle(int panel_size, const SwizzleOptions& options = {}, SourcePos pos = SourcePos::here());

// ---- programs --------------------------------------------------------------------------------------------------

// Runs `body`, which declares tensors and opens kernels, and returns the verified program.
template <class F>
Program prim_func(const std::string& name, F&& body, SourcePos pos = SourcePos::here()) {
  struct Abandon {
    bool armed = true;
    ~Abandon() {
      if (armed) detail::abandon_program();
    }
  } guard;
  detail::begin_program(name, pos);
  std::forward<F>(body)();
  guard.armed = false;
  return detail::end_program();
}

}  // namespace tilewright::lang

template <size_t N>
struct std::tuple_size<tilewright::lang::KernelScope<N>> : std::integral_constant<size_t, N> {};
template <size_t I, size_t N>
struct std::tuple_element<I, tilewright::lang::KernelScope<N>> {
  using type = const tilewright::lang::Expr;
};
