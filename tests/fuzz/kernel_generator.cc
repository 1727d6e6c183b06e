#include "fuzz/kernel_generator.h"

#include <algorithm>

namespace tilewright::fuzz {

namespace {

constexpr int64_t kMaxTileElems = 320;
constexpr int64_t kMaxRepeats = 48;

T::Shape shape_of(const std::vector<int64_t>& extents) {
  return T::Shape(std::vector<T::Expr>(extents.begin(), extents.end()));
}

}  // namespace

std::vector<int64_t> wide_extents(const std::vector<int64_t>& extents) {
  std::vector<int64_t> out;
  std::copy_if(extents.begin(), extents.end(), std::back_inserter(out), [](int64_t e) { return e != 1; });
  return out;
}

void KernelGenerator::scope(const std::function<void()>& body) {
  const size_t tiles = around_.tiles.size(), indices = around_.indices.size(), scalars = around_.scalars.size();
  const int64_t repeats = repeats_;
  body();
  repeats_ = repeats;
  around_.tiles.erase(around_.tiles.begin() + int64_t(tiles), around_.tiles.end());
  around_.indices.erase(around_.indices.begin() + int64_t(indices), around_.indices.end());
  around_.scalars.erase(around_.scalars.begin() + int64_t(scalars), around_.scalars.end());
}

bool KernelGenerator::spend(int64_t times) {
  if (repeats_ * std::max<int64_t>(times, 1) > kMaxRepeats) return false;
  repeats_ *= std::max<int64_t>(times, 1);
  return true;
}

// ---- tiles -----------------------------------------------------------------------------------------------------

DType KernelGenerator::some_dtype() {
  if (random_.chance(82)) return random_.pick({DType::f32, DType::f32, DType::f16, DType::bf16, DType::i32});
  return random_.pick({DType::i8, DType::i64, DType::f64, DType::boolean, DType::u8, DType::i16, DType::u32});
}

std::vector<int64_t> KernelGenerator::small_shape(int rank) {
  std::vector<int64_t> shape;
  int64_t room = kMaxTileElems;
  for (int d = 0; d < rank; ++d) {
    const int64_t most = std::min<int64_t>(room, rank == 1 ? 70 : rank == 2 ? 20 : rank == 3 ? 7 : 5);
    shape.push_back(random_.chance(10) ? 1 : random_.between(1, std::max<int64_t>(most, 1)));
    room = std::max<int64_t>(room / shape.back(), 1);
  }
  return shape;
}

TileInfo KernelGenerator::allocate(const std::vector<int64_t>& shape, DType dtype) {
  const T::Shape extents = shape_of(shape);
  const int64_t space = random_.between(0, 9);
  const T::Tile tile = space < 4   ? T::alloc_shared(extents, dtype)
                       : space < 9 ? T::alloc_fragment(extents, dtype)
                                   : T::alloc_local(extents, dtype);
  // A local tile that a parallel loop writes is private to its iterations, so nothing could be read from it afterwards.
  const TileInfo info{.tile = tile, .dtype = dtype, .shape = shape, .serial_only = space == 9};
  if (space < 9 && random_.chance(25)) place(info, space >= 4);
  return info;
}

TileInfo KernelGenerator::fresh(const std::vector<int64_t>& shape, DType dtype) {
  TileInfo tile = allocate(shape, dtype);
  write_whole(tile);
  around_.tiles.push_back(tile);
  return tile;
}

void KernelGenerator::write_whole(const TileInfo& tile) {
  const int64_t kind = random_.between(0, 9);
  if (kind < 5 && !around_.tensors.empty()) {
    const Part whole{.operand = T::Operand(tile.tile), .extents = tile.shape};
    for (int attempt = 0; attempt < 4; ++attempt) {
      const TileInfo& tensor = random_.pick(around_.tensors);
      if (const auto src = match(tensor, wide_extents(tile.shape), &whole)) return T::copy(*src, whole.operand);
    }
  }
  if (kind < 7 && !tile.serial_only && tile.rank() > 0 && tile.rank() <= 3 && !tile.empty())
    return parallel_into(tile, false);
  if (kind == 9) return T::clear(tile.tile);
  T::fill(tile.tile, exprs_.constant(tile.dtype));
}

std::optional<TileInfo> KernelGenerator::some_tile(bool writable) {
  std::vector<const TileInfo*> found;
  for (const TileInfo& tile : around_.tiles) {
    if (!(writable && (tile.frozen || tile.read_only))) found.push_back(&tile);
  }
  if (found.empty()) return std::nullopt;
  return *random_.pick(found);
}

// Where a range of `extent` elements may begin. On chip a constant must fit; another expression need not.
T::Expr KernelGenerator::begin_in(const TileInfo& tile, int dim, int64_t extent) {
  const int64_t room = tile.shape[size_t(dim)] - extent;
  if (!tile.global) {
    if (random_.chance(60) || around_.indices.empty()) return T::Expr(random_.between(0, room));
    if (random_.chance(70)) return exprs_.index_into(room + 1);
    return random_.pick(around_.indices).value - random_.between(0, 2);
  }
  if (around_.indices.empty() || random_.chance(25)) return T::Expr(random_.between(0, std::max<int64_t>(room, 0)));
  const Index& v = random_.pick(around_.indices);
  if (random_.chance(70)) {
    const int64_t offset = random_.chance(30) ? random_.between(0, 3) : 0;
    return v.value * extent + offset;
  }
  return v.value + random_.between(-3, std::max<int64_t>(room, 0) + 1);
}

// Some rectangular part of an on-chip tile, named in one of the ways an operand may take.
KernelGenerator::Part KernelGenerator::part_of(const TileInfo& tile) {
  if (tile.rank() == 0 || random_.chance(45)) return {.operand = T::Operand(tile.tile), .extents = tile.shape};
  Part part{.operand = T::Operand(tile.tile), .extents = {}};
  bool is_slice = false;
  for (int d = 0; d < tile.rank(); ++d) {
    const int64_t whole = tile.shape[size_t(d)];
    const int64_t kind = random_.between(0, 9);
    if (kind < 4 || whole == 0) {
      part.operand.subscripts.emplace_back(T::all);
      part.extents.push_back(whole);
      is_slice = true;
    } else if (kind < 6) {
      part.operand.subscripts.emplace_back(exprs_.index_into(whole));
      part.extents.push_back(1);
    } else {
      const int64_t extent = random_.between(1, whole);
      const T::Expr begin = begin_in(tile, d, extent);
      part.operand.subscripts.emplace_back(T::slice(begin, begin + extent));
      part.extents.push_back(extent);
      is_slice = true;
    }
  }
  if (!is_slice) {  // indices alone would be a head address
    part.operand.subscripts.back() = T::Subscript(T::all);
    part.extents.back() = tile.shape.back();
  }
  return part;
}

// A part of `tile` whose extents other than 1 are `wide`, or a head address where the peer's shape allows it.
std::optional<T::Operand> KernelGenerator::match(const TileInfo& tile, const std::vector<int64_t>& wide,
                                                 const Part* peer) {
  const int rank = tile.rank();
  if (rank < int(wide.size()) || rank == 0) return std::nullopt;
  T::Operand out(tile.tile);
  const int skip = peer ? rank - int(peer->extents.size()) : -1;
  if (peer && skip >= 0 && random_.chance(55)) {
    for (int d = 0; d < rank; ++d) {
      const int64_t extent = d < skip ? 1 : peer->extents[size_t(d - skip)];
      if (!tile.global && extent > tile.shape[size_t(d)]) return std::nullopt;
      out.subscripts.emplace_back(begin_in(tile, d, extent));
    }
    return out;
  }
  size_t next = 0;
  for (int d = 0; d < rank; ++d) {
    const int left = rank - d, needed = int(wide.size() - next);
    const bool take = needed > 0 && (left == needed || random_.chance(60));
    const int64_t extent = take ? wide[next++] : 1;
    if (!tile.global && extent > tile.shape[size_t(d)]) return std::nullopt;
    const T::Expr begin = begin_in(tile, d, extent);
    if (take || random_.chance(30)) {
      out.subscripts.emplace_back(T::slice(begin, begin + extent));
    } else {
      out.subscripts.emplace_back(begin);
    }
  }
  if (wide.empty() && peer)
    out.subscripts.back() = T::Subscript(T::slice(out.subscripts.back().begin, out.subscripts.back().begin + 1));
  return out;
}

// ---- operations ------------------------------------------------------------------------------------------------

void KernelGenerator::copy_global_to_chip() {
  const std::optional<TileInfo> dst = some_tile(true);
  if (!dst || around_.tensors.empty() || dst->rank() == 0) return;
  const Part part = part_of(*dst);
  if (const auto src = match(random_.pick(around_.tensors), wide_extents(part.extents), &part))
    T::copy(*src, part.operand);
}

void KernelGenerator::copy_chip_to_chip() {
  const std::optional<TileInfo> dst = some_tile(true);
  const std::optional<TileInfo> src = some_tile(false);
  if (!dst || !src || dst->storage() == src->storage() || dst->rank() == 0 || src->rank() == 0) return;
  const Part part = part_of(*src);
  if (const auto to = match(*dst, wide_extents(part.extents), &part)) return T::copy(part.operand, *to);
  const TileInfo copy = allocate(src->shape, random_.chance(50) ? src->dtype : some_dtype());
  T::copy(src->tile, copy.tile);
  around_.tiles.push_back(copy);
}

void KernelGenerator::fill_part() {
  const std::optional<TileInfo> dst = some_tile(true);
  if (!dst || dst->rank() == 0) return;
  Part part = part_of(*dst);
  if (random_.chance(30)) return T::clear(part.operand);
  T::fill(part.operand, bounded(dst->dtype, exprs_.make(dst->dtype, 2)));
}

// A [rows, cols] operand: a tile of its own, a part of a larger one, or one with a leading dimension of extent 1.
T::Operand KernelGenerator::matrix(int64_t rows, int64_t cols, DType dtype, std::optional<TileInfo>* whole) {
  const int64_t kind = random_.between(0, 9);
  if (kind < 7 || rows == 0 || cols == 0) {
    const TileInfo tile = fresh({rows, cols}, dtype);
    if (whole) *whole = tile;
    return T::Operand(tile.tile);
  }
  if (kind < 8) {
    const int64_t depth = random_.between(1, 2);
    const TileInfo tile = fresh({depth, rows, cols}, dtype);
    return T::Operand(tile.tile(exprs_.index_into(depth), T::all, T::all));
  }
  const int64_t above = random_.between(0, 3), left = random_.between(0, 3);
  const int64_t below = random_.between(0, 2), right = random_.between(0, 2);
  const TileInfo tile = fresh({above + rows + below, left + cols + right}, dtype);
  T::Expr top = above;
  if (random_.chance(30)) top = exprs_.index_into(above + below + 1);
  return T::Operand(tile.tile(T::slice(top, top + rows), T::slice(left, left + cols)));
}

void KernelGenerator::gemm() {
  if (gemms_ >= 2) return;
  ++gemms_;
  const auto extent = [&] {
    if (random_.chance(4)) return int64_t(0);
    return random_.pick({int64_t(1), int64_t(2), int64_t(3), int64_t(4), int64_t(5), int64_t(7), int64_t(8),
                         int64_t(13), int64_t(16), int64_t(17)});
  };
  const int64_t m = extent(), n = extent(), k = extent();
  static const std::vector<std::pair<DType, DType>> kDTypes = {
      {DType::f32, DType::f32}, {DType::f32, DType::f32},   {DType::f16, DType::f32},  {DType::bf16, DType::f32},
      {DType::f16, DType::f16}, {DType::bf16, DType::bf16}, {DType::i32, DType::i32},  {DType::i8, DType::i32},
      {DType::f64, DType::f64}, {DType::f32, DType::f64},   {DType::f16, DType::bf16}, {DType::i32, DType::i64},
      {DType::u8, DType::i32},  {DType::i8, DType::i8},     {DType::i32, DType::i32},  {DType::bf16, DType::f16}};
  const auto [from, to] = random_.pick(kDTypes);
  T::GemmOptions options{.transpose_A = random_.chance(40), .transpose_B = random_.chance(40)};
  options.policy = random_.pick({T::Square, T::FullRow, T::FullCol});
  if (random_.chance(20)) options.k_pack = 2;
  const T::Operand a = options.transpose_A ? matrix(k, m, from, nullptr) : matrix(m, k, from, nullptr);
  const T::Operand b = options.transpose_B ? matrix(n, k, from, nullptr) : matrix(k, n, from, nullptr);
  std::optional<TileInfo> result;
  const T::Operand c = matrix(m, n, to, &result);
  const int64_t clears = random_.between(0, 9);
  if (clears < 2) options.clear_accum = true;
  if (clears >= 2 && clears < 4) options.clear_accum = exprs_.exact_condition();
  T::gemm(a, b, c, options);
  if (random_.chance(25)) {
    options.clear_accum = false;
    T::gemm(a, b, c, options);
  }
}

void KernelGenerator::update_scalar() {
  const DType t = some_dtype();
  const T::Var v = T::alloc_var(t, exprs_.make(t, 2));
  around_.scalars.push_back({.value = v, .dtype = t});
  if (random_.chance(50)) v = bounded(t, exprs_.make(t, 2));
  if (random_.chance(50)) {
    const DType other = some_dtype();
    around_.scalars.push_back({.value = T::let(exprs_.make(other, 2)), .dtype = other});
  }
}

void KernelGenerator::action(int depth) {
  const int64_t kind = random_.between(0, 99);
  if (kind < 10) return copy_global_to_chip();
  if (kind < 20) return copy_chip_to_chip();
  if (kind < 25) return fill_part();
  if (kind < 37) return gemm();
  if (kind < 49) {
    if (random_.chance(35)) return scan();
    const int64_t times = random_.between(1, 3);
    for (int64_t i = 0; i < times; ++i) reduce();
    return;
  }
  if (kind < 53) return update_scalar();
  if (kind < 58) return transpose();
  if (kind < 62) return gather();
  if (kind < 69) return view();
  if (kind < 73) return plan_.atomics ? shared_sums() : view();
  if (kind < 80 || depth == 0) {
    const std::optional<TileInfo> dst = some_tile(true);
    if (dst && !dst->serial_only && dst->rank() > 0 && !dst->empty()) return parallel_into(*dst, true);
    fresh(small_shape(int(random_.between(1, 3))), some_dtype());
    return;
  }
  if (kind < 91) return loop(depth - 1);
  if (kind < 94) return while_loop(depth - 1);
  branch(depth - 1);
}

}  // namespace tilewright::fuzz
