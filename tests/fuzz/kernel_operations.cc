// Operations of random kernels that rearrange tiles, name them anew, or update them atomically.
#include "fuzz/kernel_generator.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace tilewright::fuzz {

namespace {

T::Shape shape_of(const std::vector<int64_t>& extents) {
  return T::Shape(std::vector<T::Expr>(extents.begin(), extents.end()));
}

int64_t num_elems(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

T::Previous update(AtomicWord word, const T::Operand& dst, const T::Value& value, const T::AtomicOptions& options) {
  static constexpr std::array kWords = {T::atomic_add, T::atomic_max, T::atomic_min,
                                        T::atomic_and, T::atomic_or,  T::atomic_xor};
  return kWords[size_t(word)](dst, value, options, T::SourcePos::here());
}

}  // namespace

// ---- transpose and gather --------------------------------------------------------------------------------------

void KernelGenerator::transpose() {
  const DType to = some_dtype();
  if (!around_.tensors.empty() && random_.chance(35)) {  // a matrix of a tensor, perhaps beyond its edges
    const TileInfo& tensor = random_.pick(around_.tensors);
    if (tensor.rank() < 2) return;
    const TileInfo dst = allocate(small_shape(2), random_.chance(50) ? tensor.dtype : to);
    std::vector<T::Subscript> head;
    for (int d = 0; d < tensor.rank(); ++d) {
      const int place = tensor.rank() - 1 - d;  // 0: columns, 1: rows
      head.emplace_back(begin_in(tensor, d, place < 2 ? dst.shape[size_t(place)] : 1));
    }
    T::transpose(T::Operand(T::Access(tensor.tile.id(), head)), dst.tile);
    around_.tiles.push_back(dst);
    return;
  }
  const std::optional<TileInfo> src = some_tile(false);
  if (src && src->rank() >= 2) transpose_of(*src, random_.chance(50) ? src->dtype : to);
}

void KernelGenerator::transpose_of(const TileInfo& src, DType to) {
  const Part part = part_of(src);
  std::vector<int64_t> shape = part.extents;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  const TileInfo dst = allocate(shape, to);
  T::transpose(part.operand, dst.tile);
  around_.tiles.push_back(dst);
}

// Indices inside an on-chip source; anything for a tensor.
TileInfo KernelGenerator::indices_into(const TileInfo& source, int64_t count) {
  const DType dtype = random_.pick({DType::i32, DType::i32, DType::i64, DType::u8, DType::i16, DType::u32});
  TileInfo index{.tile = T::alloc_shared({count}, dtype), .dtype = dtype, .shape = {count}};
  nest({count}, [&] {
    const T::Expr row = source.global ? exprs_.index_near(source.shape[0]) : exprs_.index_into(source.shape[0]);
    index.tile(around_.nest[0].value) = T::cast(row, dtype);
  });
  return index;
}

void KernelGenerator::gather() {
  std::vector<TileInfo> sources = around_.tiles;
  sources.insert(sources.end(), around_.tensors.begin(), around_.tensors.end());
  std::erase_if(sources, [](const TileInfo& t) { return t.rank() == 0 || t.empty(); });
  if (!sources.empty()) gather_from(random_.pick(sources));
}

void KernelGenerator::gather_from(const TileInfo& src) {
  const int64_t count = random_.between(1, 9);
  const TileInfo index = indices_into(src, count);
  std::vector<int64_t> shape = {count};
  std::vector<T::Subscript> part = {T::Subscript(T::all)};
  int64_t room = 200 / count;
  for (int d = 1; d < src.rank(); ++d) {
    const int64_t extent = random_.between(1, std::max<int64_t>(std::min(src.shape[size_t(d)], room), 1));
    const T::Expr begin = begin_in(src, d, extent);
    part.emplace_back(T::slice(begin, begin + extent));
    shape.push_back(extent);
    room /= extent;
  }
  const TileInfo dst = allocate(shape, random_.chance(50) ? src.dtype : some_dtype());
  T::gather(T::Operand(T::Access(src.tile.id(), part)), index.tile, dst.tile);
  around_.tiles.push_back(dst);
}

// ---- views -----------------------------------------------------------------------------------------------------

// The elements of a tile in another shape.
std::vector<int64_t> KernelGenerator::other_shape(int64_t count) {
  std::vector<int64_t> shape;
  int64_t rest = count;
  for (int d = 0; d < 2; ++d) {
    std::vector<int64_t> divisors;
    for (int64_t k = 1; k <= rest; ++k) {
      if (rest % k == 0) divisors.push_back(k);
    }
    if (divisors.empty() || random_.chance(40)) continue;
    shape.push_back(random_.pick(divisors));
    rest /= shape.back();
  }
  shape.push_back(rest);
  return shape;
}

void KernelGenerator::view() {
  const bool global = !around_.tensors.empty() && random_.chance(25);
  const std::optional<TileInfo> root = global ? std::optional(random_.pick(around_.tensors)) : some_tile(false);
  if (!root || root->empty() || root->strided) return;
  TileInfo out = *root;
  out.root = root->storage();
  if (random_.chance(85)) {
    out.dtype = random_.pick({DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::i16, DType::u32});
  }
  // Bits of floats that are known up to rounding only make integers of which nothing is known.
  if (is_float(root->dtype) && is_integer(out.dtype) && !root->frozen && random_.chance(20)) out.dtype = root->dtype;
  if (is_boolean(root->dtype)) out.dtype = root->dtype;
  const int64_t bits = num_elems(root->shape) * bits_of(root->dtype);
  if (bits % bits_of(out.dtype) != 0) out.dtype = root->dtype;
  out.frozen = root->frozen && out.dtype == root->dtype;
  out.read_only = root->frozen || root->read_only;
  if (!global) {
    out.shape = other_shape(bits / bits_of(out.dtype));
    out.tile = out.dtype == root->dtype ? T::reshape(root->tile, shape_of(out.shape))
                                        : T::view(root->tile, shape_of(out.shape), out.dtype);
    return around_.tiles.push_back(out);
  }
  // Flat, since only the product of dynamic extents is known, and no wider, since it may be odd.
  if (bits_of(out.dtype) > bits_of(root->dtype)) out.dtype = root->dtype;
  const int64_t factor = bits_of(root->dtype) / bits_of(out.dtype);
  T::Expr count = factor;
  for (const T::Expr& e : root->extents) count = count * e;
  out.shape = {num_elems(root->shape) * factor};
  out.extents = {count};
  out.tile = T::view(root->tile, T::Shape(out.extents), out.dtype);
  out.frozen = root->frozen && out.dtype == root->dtype;
  around_.tensors.push_back(out);
}

// A view of all elements in another shape, by bytes where `retyped`.
void KernelGenerator::view_of(const TileInfo& root, bool retyped) {
  TileInfo out = root;
  out.root = root.storage();
  if (retyped) out.dtype = root.dtype == DType::u8 ? DType::i8 : DType::u8;
  out.frozen = root.frozen && !retyped;
  out.shape = other_shape(num_elems(root.shape) * bytes_of(root.dtype) / bytes_of(out.dtype));
  out.tile = retyped ? T::view(root.tile, shape_of(out.shape), out.dtype) : T::reshape(root.tile, shape_of(out.shape));
  around_.tiles.push_back(out);
}

// Consecutive numbers go through these operations with every dtype.
void KernelGenerator::rearrange(uint64_t turn) {
  const DType dtype = kTurnDTypes[turn / 2 % std::size(kTurnDTypes)];
  const TileInfo tile = fresh(small_shape(int(random_.between(2, 3))), dtype);
  if (turn % 2 == 0) {
    transpose_of(tile, dtype);
    view_of(around_.tiles.back(), false);
  } else {
    gather_from(tile);
    if (!is_boolean(dtype)) view_of(tile, true);
  }
}

// ---- atomics ---------------------------------------------------------------------------------------------------

T::Expr KernelGenerator::term(DType t) { return bounded(t, exprs_.make(t, 2)); }

// A shared tile that the iterations of a parallel loop update; its values are there afterwards.
void KernelGenerator::shared_sums() {
  static const std::vector<DType> kDTypes = {DType::i32, DType::u32,  DType::i64, DType::u64,
                                             DType::f16, DType::bf16, DType::f32, DType::f64};
  const DType t = random_.pick(kDTypes);
  const AtomicWord word = some_word(t);
  const std::vector<int64_t> shape = small_shape(int(random_.between(1, 2)));
  const TileInfo sums{.tile = T::alloc_shared(shape_of(shape), t), .dtype = t, .shape = shape};
  T::fill(sums.tile, exprs_.constant(t));
  nest({random_.between(1, 12), random_.between(1, 5)}, [&] {
    std::vector<T::Subscript> at;
    for (int64_t extent : sums.shape) at.emplace_back(exprs_.index_into(extent));
    update(word, T::Operand(T::Access(sums.tile.id(), at)), term(t), {});
  });
  if (random_.chance(50)) {  // in serial code the value from before is determined
    std::vector<T::Subscript> at;
    for (int64_t extent : sums.shape) at.emplace_back(T::Expr(random_.between(0, extent - 1)));
    const T::Expr before =
        update(some_word(t), T::Operand(T::Access(sums.tile.id(), at)), term(t), {.return_prev = true});
    around_.scalars.push_back({.value = before, .dtype = t});
  }
  around_.tiles.push_back(sums);
}

AtomicWord KernelGenerator::some_word(DType t) {
  return AtomicWord(random_.between(0, is_float(t) ? 2 : kNumAtomicWords - 1));
}

// Into a tensor that all blocks update, by elements and by parts.
void KernelGenerator::update_sums(const Sums& sums) {
  const TileInfo& tensor = sums.tensor;
  const T::AtomicOptions options{
      .memory_order = random_.pick<const char*>({"relaxed", "acquire", "release", "acq_rel", "seq_cst", "consume"})};
  if (random_.chance(80)) {
    nest({random_.between(1, 9), random_.between(1, 4)}, [&] {
      std::vector<T::Subscript> at;
      for (int64_t extent : tensor.shape) at.emplace_back(exprs_.index_near(extent));
      const bool pairs = sums.word == AtomicWord::add && random_.chance(25) &&
                         (tensor.dtype == DType::f32 || tensor.dtype == DType::f16 || tensor.dtype == DType::bf16);
      const TileInfo* source = nullptr;
      for (const TileInfo& t : around_.tensors) {
        if (t.rank() > 0 && !t.empty()) source = &t;
      }
      if (pairs && source) {
        std::vector<T::Subscript> from;
        for (int64_t extent : source->shape) from.emplace_back(exprs_.index_near(extent));
        return T::atomic_addx2(T::Access(tensor.tile.id(), at), T::Access(source->tile.id(), from), options);
      }
      update(sums.word, T::Operand(T::Access(tensor.tile.id(), at)), term(tensor.dtype), options);
    });
  }
  if (random_.chance(80)) {
    const TileInfo part = fresh(small_shape(tensor.rank()), random_.chance(60) ? tensor.dtype : some_dtype());
    if (part.empty()) return;
    if (!part.serial_only && random_.chance(60)) parallel_into(part, true);
    std::vector<T::Subscript> head;
    for (int d = 0; d < tensor.rank(); ++d) head.emplace_back(begin_in(tensor, d, part.shape[size_t(d)]));
    update(sums.word, T::Operand(T::Access(tensor.tile.id(), head)), part.tile, options);
  } else {
    const Part part = part_of(tensor);
    update(sums.word, part.operand, exprs_.constant(tensor.dtype), options);
  }
}

}  // namespace tilewright::fuzz
