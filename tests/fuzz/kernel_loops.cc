// The control flow of random kernels: loops, branches, parallel nests, and the frame around them.
#include "fuzz/kernel_generator.h"

#include <algorithm>

namespace tilewright::fuzz {

namespace {

namespace detail = tilewright::lang::detail;

constexpr uint64_t kReductionsPerTurn = 3;

T::Expr zero() { return T::Expr(0); }

}  // namespace

// ---- parallel nests --------------------------------------------------------------------------------------------

void KernelGenerator::nest(const std::vector<int64_t>& extents, const std::function<void()>& body) {
  const int depth = detail::open_loop({.kind = detail::kParallel,
                                       .begin = std::vector<T::Expr>(extents.size(), zero()),
                                       .extent = std::vector<T::Expr>(extents.begin(), extents.end())},
                                      T::SourcePos::here());
  const std::vector<Index> outer = std::move(around_.nest);
  around_.nest.clear();
  for (size_t d = 0; d < extents.size(); ++d) {
    around_.nest.push_back({.value = detail::loop_var(depth, int(d)), .low = 0, .high = extents[d] - 1});
  }
  scope(body);
  around_.nest = outer;
  detail::close_loop(depth);
}

T::Expr KernelGenerator::bounded(DType t, const T::Expr& value) {
  if (!is_float(t) || random_.chance(35)) return value;
  return T::max(T::min(value, T::Expr(8.0)), T::Expr(-8.0));
}

// A scalar of one iteration, perhaps the result of a loop.
void KernelGenerator::private_scalar(DType t) {
  const T::Var v = T::alloc_var(t, exprs_.make(t, 2));
  if (random_.chance(60)) {
    const int64_t times = random_.between(0, 3);
    for (auto r : T::serial(times)) {
      around_.nest.push_back({.value = r, .low = 0, .high = std::max<int64_t>(times - 1, 0)});
      v = bounded(t, T::Expr(v) + exprs_.make(t, 1));
      around_.nest.pop_back();
    }
  }
  around_.scalars.push_back({.value = v, .dtype = t});
}

void KernelGenerator::parallel_body(const TileInfo& dst, const std::vector<T::Subscript>& at, bool is_written) {
  const T::Access element(dst.tile.id(), at);
  if (is_written) around_.own.push_back({.value = element, .dtype = dst.dtype});
  if (random_.chance(20)) private_scalar(random_.chance(50) && !is_boolean(dst.dtype) ? dst.dtype : DType::f32);
  if (random_.chance(20)) {
    const DType t = some_dtype();
    around_.scalars.push_back({.value = T::let(exprs_.make(t, 2)), .dtype = t});
  }
  const auto store = [&](int depth) { element = bounded(dst.dtype, exprs_.make(dst.dtype, depth)); };
  if (random_.chance(20)) {
    const bool both = !is_written || random_.chance(50);
    const T::Expr condition = exprs_.exact_condition();
    T::IfScope branch = T::if_(condition, [&] { store(2); });
    if (both) std::move(branch).else_([&] { store(2); });
  } else {
    store(int(random_.between(1, 4)));
  }
  around_.own.clear();
}

// Writes `dst`: all of it, or (where it was written before) some rectangle of it.
void KernelGenerator::parallel_into(const TileInfo& dst, bool is_written) {
  const std::vector<TileInfo> readable = around_.tiles;
  std::erase_if(around_.tiles, [&](const TileInfo& t) { return t.storage() == dst.storage(); });
  const bool whole = !is_written || random_.chance(60);
  std::vector<int64_t> extents;
  std::vector<int> nested;
  for (int d = 0; d < dst.rank(); ++d) {
    const int64_t extent = whole ? dst.shape[size_t(d)] : random_.between(1, dst.shape[size_t(d)]);
    const bool spare = dst.rank() > 3 || (extent == 1 && random_.chance(50));
    if (spare && (is_written || extent == 1)) continue;
    if (extents.size() == 3) continue;
    nested.push_back(d);
    extents.push_back(extent);
  }
  if (nested.empty()) {
    nested.push_back(0);
    extents.push_back(whole ? dst.shape[0] : 1);
  }
  std::vector<T::Subscript> at;
  for (int d = 0; d < dst.rank(); ++d) at.emplace_back(T::Expr(random_.between(0, dst.shape[size_t(d)] - 1)));
  nest(extents, [&] {
    for (size_t k = 0; k < nested.size(); ++k) {
      const T::Expr v = around_.nest[k].value;
      const int64_t offset = random_.between(0, dst.shape[size_t(nested[k])] - extents[k]);
      at[size_t(nested[k])] = T::Subscript(random_.chance(85) ? v + offset : (extents[k] - 1 + offset) - v);
    }
    parallel_body(dst, at, is_written);
  });
  around_.tiles = readable;
}

// ---- loops and branches ----------------------------------------------------------------------------------------

void KernelGenerator::loop_body(const T::Expr& var, int64_t low, int64_t high, bool may_leave, int depth) {
  around_.indices.push_back({.value = var, .low = low, .high = high});
  const int64_t actions = random_.between(1, 2);
  const int64_t leave_after = may_leave && random_.chance(30) ? random_.between(0, actions - 1) : -1;
  for (int64_t a = 0; a < actions; ++a) {
    action(depth);
    if (a != leave_after) continue;
    const bool leaves = random_.chance(50);
    T::if_(exprs_.exact_condition(), [&] { leaves ? T::loop_break() : T::loop_continue(); });
  }
}

void KernelGenerator::loop(int depth) {
  int64_t trips = random_.between(0, 4);
  const int64_t kind = random_.between(0, 8);
  if (kind >= 7) return nested_loop(kind == 7, depth);
  const int64_t step =
      kind >= 4 ? 1 : random_.pick({int64_t(1), int64_t(1), int64_t(2), int64_t(3), int64_t(-1), int64_t(-2)});
  int64_t start = random_.between(-2, 4);
  const int64_t sign = step > 0 ? 1 : -1;
  T::Expr stop = start + trips * step - (trips > 0 ? sign * random_.between(0, step * sign - 1) : 0);
  std::vector<const Index*> known;
  for (const Index& v : around_.indices) {
    if (v.low == v.high && !v.value.is_literal()) known.push_back(&v);
  }
  if (!known.empty() && step == 1 && random_.chance(35)) {  // a number of iterations that only the launch knows
    const Index& v = *random_.pick(known);
    start = 0;
    trips = ((v.low % 4) + 4) % 4;
    stop = v.value % 4;
  }
  // Tells how many iterations ran, and in which order.
  const T::Var history = T::alloc_var(T::i32, 1);
  around_.scalars.push_back({.value = history, .dtype = DType::i32});
  const auto body = [&](const T::Expr& v, int64_t low, int64_t high, bool may_leave) {
    history = T::Expr(history) * 3 + v;
    loop_body(v, low, high, may_leave, depth);
  };
  scope([&] {
    if (!spend(trips)) return action(0);
    const int64_t last = start + std::max<int64_t>(trips - 1, 0) * step;
    const int64_t low = std::min(start, last), high = std::max(start, last);
    if (kind < 3) {
      for (auto v : T::serial(start, stop, step)) body(v, low, high, true);
    } else if (kind == 3) {
      T::UnrollOptions options{.explicit_ = random_.chance(30)};
      if (!options.explicit_ && random_.chance(50)) options.factor = int(random_.between(1, 5));
      for (auto v : T::unroll(start, stop, step, options)) body(v, low, high, true);
    } else if (kind == 4) {
      for (auto v : T::vectorized(start, stop)) body(v, low, high, true);
    } else {
      const T::PipelineOptions options{.num_stages = int(random_.between(0, 3))};
      for (auto v : T::Pipelined(start, stop, options)) body(v, low, high, true);
    }
  });
}

// A grid, or the points of a domain that fall to one of several persistent blocks.
void KernelGenerator::nested_loop(bool is_grid, int depth) {
  const int64_t rows = random_.between(0, 3), cols = random_.between(0, 3);
  const int64_t wave = random_.between(1, 3), number = random_.between(0, wave - 1);
  const int group = int(random_.between(1, 4));
  const T::Var history = T::alloc_var(T::i32, 1);
  around_.scalars.push_back({.value = history, .dtype = DType::i32});
  const auto body = [&](const T::Expr& row, const T::Expr& col) {
    history = T::Expr(history) * 3 + row * 2 + col;
    around_.indices.push_back({.value = row, .low = 0, .high = std::max<int64_t>(rows - 1, 0)});
    loop_body(col, 0, std::max<int64_t>(cols - 1, 0), true, depth);
  };
  scope([&] {
    if (!spend(rows * cols)) return action(0);
    ++(*plan_.words)[is_grid ? "word grid" : "word Persistent"];
    if (is_grid) {
      for (auto [row, col] : T::grid(rows, cols)) body(row, col);
    } else {
      const bool by_block = random_.chance(40);
      const T::Expr index = by_block ? T::Expr(blocks_[0] % wave) : T::Expr(number);
      for (auto [row, col] : T::Persistent({rows, cols}, wave, index, {.group_size = group})) body(row, col);
    }
  });
}

void KernelGenerator::while_loop(int depth) {
  const int64_t trips = random_.between(0, 3);
  scope([&] {
    if (!spend(trips)) return action(0);
    const T::Var count = T::alloc_var(T::i32, 0);
    T::Expr condition = T::Expr(count) < trips;
    if (random_.chance(30)) condition = condition && exprs_.exact_condition();
    T::while_(condition, [&] {
      count += 1;
      loop_body(T::cast(count, DType::i64), 1, std::max<int64_t>(trips, 1), true, depth);
    });
  });
}

void KernelGenerator::branch(int depth) {
  const auto some = [&] {
    scope([&] {
      const int64_t actions = random_.between(1, 2);
      for (int64_t a = 0; a < actions; ++a) action(depth);
    });
  };
  T::IfScope scope_of_if = T::if_(exprs_.exact_condition(), some);
  if (random_.chance(50)) std::move(scope_of_if).else_(some);
}

// ---- the frame -------------------------------------------------------------------------------------------------

void KernelGenerator::parallel_output(const Output& output, const TileInfo& result, const std::vector<T::Expr>& begin) {
  std::vector<int64_t> extents(output.block.begin(),
                               output.block.begin() + std::min<int64_t>(3, int64_t(output.block.size())));
  const auto store = [&] {
    std::vector<T::Subscript> from, to;
    for (size_t d = 0; d < output.block.size(); ++d) {
      const T::Expr offset = d < around_.nest.size() ? around_.nest[d].value : zero();
      from.emplace_back(offset);
      to.emplace_back(begin[d] + offset);
    }
    const T::Access element(output.tensor.tile.id(), to);
    const T::Expr value = T::Access(result.tile.id(), from);
    element = T::cast(value, output.tensor.dtype);
  };
  nest(extents, store);
}

void KernelGenerator::write_output(const Output& output) {
  const TileInfo result = fresh(output.block, random_.chance(70) ? output.tensor.dtype : some_dtype());
  if (!result.empty() && !result.serial_only && result.rank() <= 3 && random_.chance(70)) parallel_into(result, true);
  std::vector<T::Expr> begin;
  std::vector<T::Subscript> head, slices;
  for (size_t d = 0; d < output.block.size(); ++d) {
    begin.push_back(output.grid_dim[d] < 0 ? zero() : blocks_[size_t(output.grid_dim[d])] * output.block[d]);
    head.emplace_back(begin[d]);
    slices.emplace_back(T::slice(begin[d], begin[d] + output.block[d]));
  }
  const int64_t kind = random_.between(0, 9);
  if (kind < 3 && output.block.size() <= 3) return parallel_output(output, result, begin);
  T::copy(T::Operand(result.tile), T::Operand(T::Access(output.tensor.tile.id(), kind < 7 ? head : slices)));
}

// Parts of tiles, as they are now, to the slots of `into` that belong to this block.
void KernelGenerator::dump(const TileInfo& into) {
  if (around_.tiles.empty()) return;
  T::Expr row = blocks_.back();
  for (size_t d = blocks_.size() - 1; d-- > 0;) row = row * plan_.grid_extents[d] + blocks_[d];
  const auto first = size_t(random_.between(0, int64_t(around_.tiles.size()) - 1));
  const size_t slots = std::min(size_t(into.shape[1]), around_.tiles.size());
  for (size_t slot = 0; slot < slots; ++slot) {
    const TileInfo& tile = around_.tiles[(first + slot) % around_.tiles.size()];
    if (tile.rank() == 0 || tile.empty()) continue;
    std::vector<T::Subscript> from, to = {T::Subscript(row), T::Subscript(T::Expr(int64_t(slot))),
                                          T::Subscript(T::slice(0, 1)), T::Subscript(T::slice(0, 1))};
    for (int d = 0; d < tile.rank(); ++d) {
      const int place = d - tile.rank() + 4;  // of `into`
      const int64_t extent = place < 2 ? 1 : std::min(tile.shape[size_t(d)], into.shape[size_t(place)]);
      const int64_t begin = random_.chance(50) ? tile.shape[size_t(d)] - extent : 0;
      from.emplace_back(T::slice(begin, begin + extent));
      if (place >= 2) to[size_t(place)] = T::Subscript(T::slice(0, extent));
    }
    T::copy(T::Operand(T::Access(tile.tile.id(), from)), T::Operand(T::Access(into.tile.id(), to)));
  }
}

// The values of scalars, into a tile.
void KernelGenerator::collect_scalars() {
  const auto count = std::min<int64_t>(int64_t(around_.scalars.size()), 6);
  if (count == 0) return;
  const TileInfo tile = fresh({count}, DType::f64);
  for (int64_t i = 0; i < count; ++i) {
    const Scalar& scalar = around_.scalars[around_.scalars.size() - 1 - size_t(i)];
    T::Access(tile.tile.id(), {T::Subscript(T::Expr(i))}) = T::cast(scalar.value, DType::f64);
  }
}

void KernelGenerator::open() {
  around_ = plan_.surroundings;
  for (size_t d = 0; d < plan_.grid.size(); ++d) {
    blocks_.push_back(detail::block_var(int(d)));
    around_.indices.push_back({.value = blocks_.back(), .low = 0, .high = plan_.grid_extents[d] - 1});
  }
  if (random_.chance(30)) {
    T::use_swizzle(int(random_.between(1, 4)), {.order = random_.pick({T::row, T::col})});
  }
  for (const TileInfo& tensor : around_.tensors) {
    if (!tensor.frozen || !is_integer(tensor.dtype) || around_.tiles.size() >= 2) continue;
    TileInfo tile = allocate({random_.between(1, 9)}, DType::i32);
    tile.frozen = true;
    const Part whole{.operand = T::Operand(tile.tile), .extents = tile.shape};
    const std::vector<int64_t> wide = tile.shape[0] == 1 ? std::vector<int64_t>{} : tile.shape;
    const auto src = match(tensor, wide, &whole);
    if (!src) continue;
    T::copy(*src, whole.operand);
    around_.tiles.push_back(tile);
  }
}

void KernelGenerator::run() {
  T::KernelOptions options{.threads = int(random_.pick({32, 64, 128, 96, 1, 256}))};
  if (random_.chance(20)) options.threads = {int(random_.between(1, 40)), 3, 2};
  const int depth = detail::open_kernel(plan_.grid, options, T::SourcePos::here());
  open();
  const int64_t tiles = random_.between(2, 3);
  for (int64_t i = 0; i < tiles; ++i) fresh(small_shape(int(random_.between(1, 4))), some_dtype());
  const int64_t actions = random_.between(1, 5);
  for (int64_t a = 0; a < actions; ++a) action(2);
  for (uint64_t i = 0; plan_.turn && i < kReductionsPerTurn; ++i) reduce(*plan_.turn * kReductionsPerTurn + i);
  if (plan_.turn) scan(plan_.turn);
  if (plan_.turn) rearrange(*plan_.turn);
  for (const Sums& sums : plan_.sums) update_sums(sums);
  collect_scalars();
  for (const TileInfo& into : plan_.dumps) dump(into);
  for (const Output& output : plan_.outputs) write_output(output);
  detail::close_kernel(depth);
}

}  // namespace tilewright::fuzz
