// Kernels over a grid of blocks, loops and branches. A part of <tilewright/language.h>, which is the header to include.
#pragma once

#include <tilewright/language/expressions.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace tilewright::lang {

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

}  // namespace tilewright::lang

template <size_t N>
struct std::tuple_size<tilewright::lang::KernelScope<N>> : std::integral_constant<size_t, N> {};
template <size_t I, size_t N>
struct std::tuple_element<I, tilewright::lang::KernelScope<N>> {
  using type = const tilewright::lang::Expr;
};
