// The reductions and scans of random kernels.
#include "fuzz/kernel_generator.h"

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

bool takes_any(DType) { return true; }
bool takes_bits(DType t) { return !is_float(t); }

// Each operator with each dtype that it takes.
template <class Op>
struct Turn {
  Op op;
  DType dtype;
};

const std::vector<Turn<Reduction>>& reduction_turns() {
  static const std::vector<Turn<Reduction>> kTurns = [] {
    std::vector<Turn<Reduction>> turns;
    for (const DType t : kTurnDTypes) {
      for (const Reduction& r : reductions()) {
        if (r.family != Family::bits || takes_bits(t)) turns.push_back({r, t});
      }
    }
    return turns;
  }();
  return kTurns;
}

DType some_float(Random& random) { return random.pick({DType::f32, DType::f16, DType::bf16, DType::f64}); }
DType some_integer(Random& random) {
  return random.pick({DType::i32, DType::i32, DType::i64, DType::i8, DType::i16, DType::u8, DType::u16, DType::u32});
}

bool same_family(DType a, DType b) { return is_float(a) == is_float(b) && is_boolean(a) == is_boolean(b); }

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

KernelGenerator::Source KernelGenerator::fresh_source(DType dtype) {
  const TileInfo tile = fresh(small_shape(int(random_.between(1, 3))), dtype);
  return {.part = part_of(tile), .dtype = dtype, .tile = tile.tile.id()};
}

// A part of a tensor, of a tile, or a new tile.
std::optional<KernelGenerator::Source> KernelGenerator::reduction_source(bool (*takes)(DType)) {
  if (random_.chance(15)) {
    const std::optional<Part> part = part_of_tensor();
    if (!part) return std::nullopt;
    const DType t = T::Tile(part->operand.tile).dtype();
    if (!takes(t)) return std::nullopt;
    return Source{.part = *part, .dtype = t, .tile = part->operand.tile};
  }
  const std::optional<TileInfo> src = some_tile(false);
  if (!src || src->rank() == 0 || !takes(src->dtype)) return std::nullopt;
  return Source{.part = part_of(*src), .dtype = src->dtype, .tile = src->storage()};
}

void KernelGenerator::reduce(std::optional<uint64_t> turn) {
  const auto& turns = reduction_turns();
  const Turn<Reduction>& chosen = turn ? turns[*turn % turns.size()] : random_.pick(turns);
  const Family family = chosen.op.family;
  const size_t tiles = around_.tiles.size();
  const std::optional<Source> src =
      turn ? fresh_source(chosen.dtype) : reduction_source(family == Family::bits ? takes_bits : takes_any);
  if (!src) return;
  if (turn) around_.tiles.erase(around_.tiles.begin() + int64_t(tiles), around_.tiles.end());
  const DType from = src->dtype;
  const auto rank = int(src->part.extents.size());
  const int dim = int(random_.between(0, rank - 1));
  std::vector<int64_t> shape = src->part.extents;
  if (rank == 1 ? random_.chance(70) : random_.chance(40)) {
    shape[size_t(dim)] = 1;
  } else {
    shape.erase(shape.begin() + dim);
  }

  const bool truths = family == Family::truths || (family == Family::bits && is_boolean(from));
  const auto some_result = [&] {
    return truths ? DType::boolean : is_float(from) ? some_float(random_) : some_integer(random_);
  };
  const DType to = truths || is_boolean(from) || random_.chance(35) ? some_result() : from;
  T::ReduceOptions options{.dim = random_.chance(50) ? dim : dim - rank, .clear = random_.chance(55)};
  if (family == Family::orders) options.nan_propagate = random_.chance(30);
  if (random_.chance(10)) options.batch = int(random_.between(1, 4));
  if (!truths && random_.chance(15)) options.accumulate = some_result();

  // Into a part of a tile that is there, or into a new one.
  const std::optional<TileInfo> old = random_.chance(20) ? some_tile(true) : std::nullopt;
  if (old && old->storage() != src->tile && old->rank() > 0 && same_family(old->dtype, to)) {
    if (const auto dst = match(*old, wide_extents(shape), nullptr))
      return chosen.op.word(src->part.operand, *dst, options, T::SourcePos::here());
  }
  const TileInfo dst = options.clear ? allocate(shape, to) : fresh(shape, to);
  chosen.op.word(src->part.operand, dst.tile, options, T::SourcePos::here());
  if (options.clear) around_.tiles.push_back(dst);
}

void KernelGenerator::scan(std::optional<uint64_t> turn) {
  constexpr uint64_t kCount = sizeof(kTurnDTypes) / sizeof(kTurnDTypes[0]);
  const bool max = turn ? *turn / kCount % 2 == 1 : random_.chance(50);
  const bool truths = turn && is_boolean(kTurnDTypes[*turn % kCount]);
  const bool in_place = !truths && random_.chance(35);
  const size_t tiles = around_.tiles.size();
  std::optional<TileInfo> src =
      turn ? fresh(small_shape(int(random_.between(1, 3))), kTurnDTypes[*turn % kCount]) : some_tile(in_place);
  if (!src || src->rank() == 0 || (in_place && is_boolean(src->dtype))) return;
  const Part part = part_of(*src);
  const int dim = int(random_.between(0, src->rank() - 1));
  T::ScanOptions options{.dim = random_.chance(50) ? dim : dim - src->rank(), .reverse = random_.chance(40)};
  if (max) options.nan_propagate = random_.chance(30);
  const bool floats = is_float(src->dtype);
  const auto some_result = [&] { return floats ? some_float(random_) : some_integer(random_); };
  if (random_.chance(15)) options.accumulate = some_result();
  if (in_place) return max ? T::cummax(part.operand, options) : T::cumsum(part.operand, options);
  if (turn) around_.tiles.erase(around_.tiles.begin() + int64_t(tiles), around_.tiles.end());
  const DType to = is_boolean(src->dtype) || random_.chance(30) ? some_result() : src->dtype;
  const TileInfo dst = allocate(part.extents, to);
  max ? T::cummax(part.operand, dst.tile, options) : T::cumsum(part.operand, dst.tile, options);
  around_.tiles.push_back(dst);
}

}  // namespace tilewright::fuzz
