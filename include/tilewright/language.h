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
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tilewright::ir {
struct ExprNode;
}

namespace tilewright::lang {

using tilewright::Program;

inline constexpr DType f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16;
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
Expr cast(const Expr& value, DType dtype);
Expr infinity(DType dtype);
Expr abs(const Expr& x);
Expr exp(const Expr& x);
Expr exp2(const Expr& x);
Expr log(const Expr& x);
Expr log2(const Expr& x);
Expr sqrt(const Expr& x);
Expr rsqrt(const Expr& x);
Expr sin(const Expr& x);
Expr cos(const Expr& x);
Expr tanh(const Expr& x);
Expr erf(const Expr& x);
Expr sigmoid(const Expr& x);
Expr floor(const Expr& x);
Expr ceil(const Expr& x);
Expr round(const Expr& x);  // to nearest even

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
  DType dtype() const;
  int rank() const;
  Expr shape(int dim) const;

 private:
  int id_;
};

// What a tile operation takes: a whole tile, an element or head address, or a slice.
class Operand {
 public:
  Operand(const Tile& t, SourcePos p = SourcePos::here()) : tile(t.id()), pos(p) {}
  Operand(const Access& access, SourcePos p = SourcePos::here())
      : tile(access.tile()), subscripts(access.subscripts()), pos(p) {}
  int tile;
  std::vector<Subscript> subscripts;
  SourcePos pos;
};

// What atomics and print take: a number, or a tile or a part of one.
class Value {
 public:
  Value(const Tile& t, SourcePos p = SourcePos::here()) : operand_(Operand(t, p)) {}
  Value(const Access& access, SourcePos p = SourcePos::here()) : operand_(Operand(access, p)) {}
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
  Access access_;
};

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
Var alloc_var(DType dtype, const Expr& init, SourcePos pos = SourcePos::here());
Var alloc_var(DType dtype, SourcePos pos = SourcePos::here());

// The same storage by another shape: the elements in row-major order. Of on-chip tiles and contiguous tensors.
Tile reshape(const Tile& tile, const Shape& shape, SourcePos pos = SourcePos::here());
// The same bits by another shape and dtype; what is written through one is read through the other.
Tile view(const Tile& tile, const Shape& shape, DType dtype, SourcePos pos = SourcePos::here());
Tile view(const Tile& tile, const Shape& shape, SourcePos pos = SourcePos::here());
Tile view(const Tile& tile, DType dtype, SourcePos pos = SourcePos::here());  // of the same shape

// A name for the value that `value` has here.
Expr let(const Expr& value, SourcePos pos = SourcePos::here());

// ---- kernels ---------------------------------------------------------------------------------------------------

struct KernelOptions {
  int threads = 128;  // 1 to 1024
};

namespace detail {
int open_kernel(std::vector<Expr> grid, const KernelOptions& options, SourcePos pos);
void close_kernel(int depth) noexcept;
Expr block_var(int dim);

int open_loop(int kind, std::vector<Expr> begin, std::vector<Expr> extent, int64_t step, int num_stages, SourcePos pos);
void close_loop(int depth);
void abandon_loop(int depth) noexcept;
Expr loop_var(int depth, int dim);

void open_if(const Expr& condition, SourcePos pos);
void open_else(SourcePos pos);
void close_if();
void open_while(const Expr& condition, SourcePos pos);
void close_while();

void begin_program(const std::string& name, SourcePos pos);
Program end_program();
void abandon_program() noexcept;
}  // namespace detail

// Opens a kernel over a grid of blocks; `auto [bx, by] = T::Kernel({gx, gy})`. Closes at the end of the C++ block.
template <size_t N>
class KernelScope {
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

enum LoopKindTag : int { kSerial = 0, kUnrolled = 1, kPipelined = 2, kParallel = 3 };

// A range that runs its body once, between opening and closing a loop of the kernel.
template <size_t N>
class LoopRange {
 public:
  LoopRange(int kind, std::vector<Expr> begin, std::vector<Expr> extent, int64_t step, int num_stages, SourcePos pos)
      : kind_(kind),
        begin_(std::move(begin)),
        extent_(std::move(extent)),
        step_(step),
        num_stages_(num_stages),
        pos_(pos) {}
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
    depth_ = open_loop(kind_, begin_, extent_, step_, num_stages_, pos_);
    return Iterator(this);
  }
  End end() const { return {}; }

 private:
  int kind_;
  std::vector<Expr> begin_, extent_;
  int64_t step_;
  int num_stages_;
  SourcePos pos_;
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
  return {detail::kParallel, std::vector<Expr>(1 + sizeof...(E), Expr(0)), {first.value, Expr(rest)...}, 1, 0,
          first.pos};
}

detail::LoopRange<1> serial(const Expr& stop, SourcePos pos = SourcePos::here());
// start, start + step, ... while before stop (after it for a negative step).
detail::LoopRange<1> serial(const Expr& start, const Expr& stop, int64_t step = 1, SourcePos pos = SourcePos::here());
detail::LoopRange<1> unroll(const Expr& stop, SourcePos pos = SourcePos::here());
detail::LoopRange<1> unroll(const Expr& start, const Expr& stop, int64_t step = 1, SourcePos pos = SourcePos::here());

struct PipelineOptions {
  int num_stages = 0;  // buffers of the staged tiles; 0 and 1: no overlap
};
detail::LoopRange<1> Pipelined(const Expr& stop, const PipelineOptions& options = {},
                               SourcePos pos = SourcePos::here());
detail::LoopRange<1> Pipelined(const Expr& start, const Expr& stop, const PipelineOptions& options = {},
                               SourcePos pos = SourcePos::here());

class IfScope {
 public:
  template <class F>
  void else_(F&& body, SourcePos pos = SourcePos::here()) && {
    detail::open_else(pos);
    std::forward<F>(body)();
    detail::close_if();
  }
};

template <class F>
IfScope if_(const Expr& condition, F&& body, SourcePos pos = SourcePos::here()) {
  detail::open_if(condition, pos);
  std::forward<F>(body)();
  detail::close_if();
  return {};
}

template <class F>
void while_(const Expr& condition, F&& body, SourcePos pos = SourcePos::here()) {
  detail::open_while(condition, pos);
  std::forward<F>(body)();
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
  int dim = -1;       // of src, counted from the end if negative
  bool clear = true;  // false: combine with what dst holds
};
void reduce_sum(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                SourcePos pos = SourcePos::here());
void reduce_max(const Operand& src, const Operand& dst, const ReduceOptions& options = {},
                SourcePos pos = SourcePos::here());

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
inline constexpr Order row = Order::row, col = Order::col;
struct SwizzleOptions {
  Order order = Order::row;
};
// Visits blocks in panels of `panel_size` rows (columns) of the grid; results do not change.
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
