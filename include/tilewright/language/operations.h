// Operations on tiles. A part of <tilewright/language.h>, which is the header to include.
#pragma once

#include <tilewright/language/tiles.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilewright::lang {

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

}  // namespace tilewright::lang
