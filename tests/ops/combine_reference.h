// What reductions and scans of elements give, from the definition of the words: sums exactly, with the error that any
// order of rounded additions may have; everything else exactly.
#pragma once

#include "ops/op_table.h"

#include <optional>

namespace tilewright::tests {

enum class Combining : uint8_t { sum, max, min, abssum, absmax, bit_and, bit_or, bit_xor, any, all };
inline constexpr int kNumCombinings = 10;

constexpr bool of_bits(Combining c) { return c >= Combining::bit_and && c <= Combining::bit_xor; }
constexpr bool of_truths(Combining c) { return c >= Combining::any; }

// The dtype in which elements of `in` are combined into `out`.
DType accumulating(DType in, DType out, std::optional<DType> asked);

class Line {
 public:
  Line(Combining how, DType accumulate, bool nan_propagate);

  void take(Real element, DType dtype);
  // One more operand of the combination, as it is: what the result held before.
  void take_old(Real value, DType dtype);
  // Sets element `at` of `expected`, which has dtype `out`.
  void put(Expected& expected, int64_t at, DType out) const;

 private:
  void combine(Real x);
  Real largest_error() const;

  Combining how_;
  DType dtype_;
  bool nan_propagate_;
  Real value_ = 0, magnitudes_ = 0;
  int64_t count_ = 0;
};

// Coordinates of a box inside a larger array: the box begins at `lead` and has `shape`.
struct Box {
  std::vector<int64_t> shape, lead, trail;

  std::vector<int64_t> whole() const;
  int64_t flat(const std::vector<int64_t>& at) const;  // of the whole array, `at` in the box
};

// Where an operand stands.
enum class Place : uint8_t {
  whole,     // a tile
  slice,     // a slice with constant begins
  run_time,  // a slice that begins where only the launch knows
  head,      // a head address
};
Box box_for(std::vector<int64_t> shape, Place place);
// `block` is 0 where the kernel runs.
T::Operand operand_at(const T::Tile& tile, const Box& box, Place place, const T::Expr& block);

enum class Where : uint8_t { global, shared, fragment, local };
T::Tile tile_in(Where where, const std::vector<int64_t>& shape, DType dtype);

// Calls f with the coordinates of each element of `shape`.
void for_each_element(const std::vector<int64_t>& shape, const std::function<void(std::vector<int64_t>&)>& f);

// Fills with what shows the difference between operations: "random", "bits", "negative", "nan", "all nan", "-inf",
// "sparse", "dense", or small numbers whose sums do not overflow.
void fill_values(HostArray& array, const std::string& values);

}  // namespace tilewright::tests
