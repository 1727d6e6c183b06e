// The reductions and scans of random kernels.
#include "fuzz/kernel_generator.h"

#include <algorithm>

namespace tilewright::fuzz {

namespace {

using Word = void (*)(const T::Operand&, const T::Operand&, const T::ReduceOptions&, T::SourcePos);

enum class Family : uint8_t { sums, orders, bits, truths };
struct Reduction {
  Word word;
  Family family;
};

const std::vector<Reduction>& reductions() {
  static const std::vector<Reduction> kAll = {{T::reduce_sum, Family::sums},      {T::reduce_max, Family::orders},
                                              {T::reduce_min, Family::orders},    {T::reduce_abssum, Family::sums},
                                              {T::reduce_absmax, Family::orders}, {T::reduce_bitand, Family::bits},
                                              {T::reduce_bitor, Family::bits},    {T::reduce_bitxor, Family::bits},
                                              {T::reduce_any, Family::truths},    {T::reduce_all, Family::truths}};
  return kAll;
}

bool is_any(DType) { return true; }
bool is_bits(DType t) { return !is_float(t); }

}  // namespace

// A part of a tensor; it may hang over the edges.
std::optional<KernelGenerator::Part> KernelGenerator::part_of_tensor() {
  if (around_.tensors.empty()) return std::nullopt;
  const TileInfo& tensor = random_.pick(around_.tensors);
  if (tensor.rank() == 0 || tensor.rank() > 3) return std::nullopt;
  std::vector<int64_t> extents;
  for (int d = 0; d < tensor.rank(); ++d) extents.push_back(random_.between(2, tensor.rank() == 1 ? 40 : 7));
  const std::optional<T::Operand> operand = match(tensor, extents, nullptr);
  if (!operand) return std::nullopt;
  return Part{.operand = *operand, .extents = extents};
}

// What to reduce: a part of a tensor, of a tile, or a new tile.
bool KernelGenerator::reduction_source(bool (*takes)(DType), Part& part, DType& dtype, int& tile) {
  if (random_.chance(15)) {
    const std::optional<Part> found = part_of_tensor();
    if (!found) return false;
    part = *found;
    const auto of = std::find_if(around_.tensors.begin(), around_.tensors.end(),
                                 [&](const TileInfo& t) { return t.tile.id() == part.operand.tile; });
    dtype = of->dtype;
    tile = part.operand.tile;
    return takes(dtype);
  }
  std::optional<TileInfo> src = some_tile(false);
  if (!src || !takes(src->dtype) || random_.chance(40)) {
    DType t = random_.chance(50) ? some_dtype()
                                 : random_.pick({DType::f64, DType::i8, DType::i64, DType::boolean, DType::u8,
                                                 DType::i16, DType::u32, DType::i32, DType::f16, DType::bf16});
    if (!takes(t)) t = random_.pick({DType::i32, DType::i32, DType::boolean, DType::u8, DType::i8, DType::i64});
    src = fresh(small_shape(int(random_.between(1, 3))), t);
  }
  if (src->rank() == 0) return false;
  part = part_of(*src);
  dtype = src->dtype;
  tile = src->tile.id();
  return true;
}

void KernelGenerator::reduce() {
  const Reduction& reduction = random_.pick(reductions());
  const Family family = reduction.family;
  Part part{.operand = T::Operand(T::Tile(0)), .extents = {}};
  DType from = DType::f32;
  int src = -1;
  if (!reduction_source(family == Family::bits ? is_bits : is_any, part, from, src)) return;
  const auto rank = int(part.extents.size());
  const int dim = int(random_.between(0, rank - 1));
  std::vector<int64_t> shape = part.extents;
  if (rank == 1 ? random_.chance(70) : random_.chance(40)) {
    shape[size_t(dim)] = 1;
  } else {
    shape.erase(shape.begin() + dim);
  }

  const bool truths = family == Family::truths || (family == Family::bits && is_boolean(from));
  const auto some_result = [&] {
    if (truths) return DType::boolean;
    if (is_float(from)) return random_.pick({DType::f32, DType::f16, DType::bf16, DType::f64});
    return random_.pick({DType::i32, DType::i32, DType::i64, DType::i8, DType::i16, DType::u8, DType::u32});
  };
  DType to = truths || is_boolean(from) || random_.chance(45) ? some_result() : from;
  T::ReduceOptions options{.dim = random_.chance(50) ? dim : dim - rank, .clear = random_.chance(55)};
  if (family == Family::orders) options.nan_propagate = random_.chance(30);
  if (random_.chance(10)) options.batch = int(random_.between(1, 4));
  if (!truths && random_.chance(15)) options.accumulate = some_result();

  // Into a part of a tile that is there, or into a new one.
  const std::optional<TileInfo> old = random_.chance(30) ? some_tile(true) : std::nullopt;
  if (old && old->tile.id() != src && old->rank() > 0 && is_float(old->dtype) == is_float(to) &&
      is_boolean(old->dtype) == is_boolean(to)) {
    if (const auto dst = match(*old, wide_extents(shape), nullptr))
      return reduction.word(part.operand, *dst, options, T::SourcePos::here());
  }
  const TileInfo dst = options.clear ? allocate(shape, to) : fresh(shape, to);
  reduction.word(part.operand, dst.tile, options, T::SourcePos::here());
  if (options.clear) around_.tiles.push_back(dst);
}

void KernelGenerator::scan() {
  const bool max = random_.chance(50);
  const bool in_place = random_.chance(35);
  const std::optional<TileInfo> src =
      random_.chance(60) ? some_tile(in_place) : fresh(small_shape(int(random_.between(1, 3))), some_dtype());
  if (!src || src->rank() == 0 || (in_place && is_boolean(src->dtype))) return;
  const Part part = part_of(*src);
  const int dim = int(random_.between(0, src->rank() - 1));
  T::ScanOptions options{.dim = random_.chance(50) ? dim : dim - src->rank(), .reverse = random_.chance(40)};
  if (max) options.nan_propagate = random_.chance(30);
  DType to = src->dtype;
  const auto some_result = [&] {
    return is_float(to) ? random_.pick({DType::f32, DType::f16, DType::bf16, DType::f64})
                        : random_.pick({DType::i32, DType::i64, DType::i8, DType::i16, DType::u8, DType::u32});
  };
  if (random_.chance(15)) options.accumulate = some_result();
  const auto scan_in_place = [&] { max ? T::cummax(part.operand, options) : T::cumsum(part.operand, options); };
  if (in_place) return scan_in_place();
  if (is_boolean(to) || random_.chance(30)) to = some_result();
  const TileInfo dst = allocate(part.extents, to);
  max ? T::cummax(part.operand, dst.tile, options) : T::cumsum(part.operand, dst.tile, options);
  around_.tiles.push_back(dst);
}

}  // namespace tilewright::fuzz
