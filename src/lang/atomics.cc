// The atomic words: single elements become atomic statements, parts of tiles become tile operations.
#include "lang/convert.h"
#include "lang/open_builder.h"
#include "ops/atomic.h"
#include "support/error.h"

#include <algorithm>

namespace tilewright::lang {

namespace {

using ir::AtomicKind;

std::string word_of(AtomicKind kind) { return fmt::format("atomic_{}", to_string(kind)); }

// More than a single element.
bool has_extents(const Operand& operand, SourcePos pos) {
  if (operand.subscripts.empty()) return !builder(pos).shape_of(operand.tile, to_loc(pos)).empty();
  return std::any_of(operand.subscripts.begin(), operand.subscripts.end(),
                     [](const Subscript& s) { return s.kind != Subscript::Kind::index; });
}

// One value for every element of a part of a tile.
void update_all(AtomicKind kind, const Operand& dst, const Expr& value, ir::MemoryOrder order, SourcePos pos) {
  const Loc loc = to_loc(pos);
  const ops::Operand to = to_operand(dst);
  Builder& b = builder(pos);
  const ir::TileRef ref = ops::resolve(to, b.kernel(loc), word_of(kind));
  const ir::Expr v = b.let(to_dtype(value, b.dtype_of(dst.tile, loc), loc), loc);
  std::vector<ir::Expr> vars;
  for (size_t d = 0; d < ops::wide_dims(ref).size(); ++d) vars.push_back(b.fresh_var("i", ir::kIndex, loc));
  for (ir::Stmt& stmt : ops::atomic_loop(kind, ref, v, order, vars, b.kernel(loc), loc)) b.append(std::move(stmt));
}

Previous update(AtomicKind kind, const Operand& dst, const Value& value, const AtomicOptions& options, SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  const ir::MemoryOrder order = ops::memory_order(options.memory_order, word_of(kind), loc);
  b.check_atomic(kind, dst.tile, order, loc);
  const bool wide = has_extents(dst, pos) || (value.operand() && has_extents(*value.operand(), pos));
  if (wide && options.return_prev) {
    throw invalid_kernel(loc, "{}: return_prev is asked for more than one element", word_of(kind))
        .hint("update single elements in a T::Parallel loop to get what they held");
  }
  if (wide && value.operand()) {
    const ops::Operand from = to_operand(*value.operand()), to = to_operand(dst);
    b.append(ops::make_atomic(kind, from, to, order, b.kernel(loc), loc));
    return {};
  }
  if (wide) {
    update_all(kind, dst, *value.number(), order, pos);
    return {};
  }
  const Expr number =
      value.operand() ? Expr(Access(value.operand()->tile, value.operand()->subscripts)) : *value.number();
  const ir::Expr v = to_dtype(number, b.dtype_of(dst.tile, loc), loc);
  const ir::Expr prev = b.atomic(kind, dst.tile, to_indices(dst.subscripts), v, order, options.return_prev, loc);
  return prev ? Previous(from_ir(prev)) : Previous();
}

// `count` neighbours in the last dimension.
void add_neighbours(const char* word, int count, const Access& dst, const Access& value, const AtomicOptions& options,
                    SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  const ir::MemoryOrder order = ops::memory_order(options.memory_order, word, loc);
  const DType dtype = b.dtype_of(dst.tile(), loc);
  const bool fits = dtype == DType::f32 || (count == 2 && (dtype == DType::f16 || dtype == DType::bf16));
  if (!fits) {
    throw invalid_kernel(loc, "{}: elements of {} are not updated {} at a time", word, to_string(dtype), count)
        .hint(count == 2 ? "atomic_addx2 takes f16, bf16 and f32; atomic_add every dtype"
                         : "atomic_addx4 takes f32; atomic_add every dtype");
  }
  if (options.return_prev) {
    throw invalid_kernel(loc, "{}: return_prev is asked for more than one element", word)
        .hint("use atomic_add on each element to get what it held");
  }
  for (int k = 0; k < count; ++k) {
    std::vector<ir::Expr> to = to_indices(dst.subscripts()), from = to_indices(value.subscripts());
    if (to.empty() || from.empty()) {
      throw invalid_kernel(loc, "{}: an operand has no last dimension", word).hint("give the first of the elements");
    }
    to.back() = to.back() + k;
    from.back() = from.back() + k;
    const ir::Expr v = ir::cast(b.load(value.tile(), std::move(from), loc), dtype, loc);
    b.atomic(AtomicKind::add, dst.tile(), std::move(to), v, order, false, loc);
  }
}

}  // namespace

Previous::operator Expr() const {
  if (value_) return *value_;
  throw invalid_kernel({}, "the previous value of an atomic is used but was not asked for")
      .hint("pass {.return_prev = true}");
}

Previous atomic_add(const Operand& dst, const Value& value, const AtomicOptions& options, SourcePos pos) {
  return update(AtomicKind::add, dst, value, options, pos);
}
Previous atomic_max(const Operand& dst, const Value& value, const AtomicOptions& options, SourcePos pos) {
  return update(AtomicKind::max, dst, value, options, pos);
}
Previous atomic_min(const Operand& dst, const Value& value, const AtomicOptions& options, SourcePos pos) {
  return update(AtomicKind::min, dst, value, options, pos);
}
Previous atomic_or(const Operand& dst, const Value& value, const AtomicOptions& options, SourcePos pos) {
  return update(AtomicKind::bit_or, dst, value, options, pos);
}
Previous atomic_and(const Operand& dst, const Value& value, const AtomicOptions& options, SourcePos pos) {
  return update(AtomicKind::bit_and, dst, value, options, pos);
}
Previous atomic_xor(const Operand& dst, const Value& value, const AtomicOptions& options, SourcePos pos) {
  return update(AtomicKind::bit_xor, dst, value, options, pos);
}

void atomic_addx2(const Access& dst, const Access& value, const AtomicOptions& options, SourcePos pos) {
  add_neighbours("atomic_addx2", 2, dst, value, options, pos);
}
void atomic_addx4(const Access& dst, const Access& value, const AtomicOptions& options, SourcePos pos) {
  add_neighbours("atomic_addx4", 4, dst, value, options, pos);
}

Expr atomic_load(const Access& src, const std::string& memory_order, SourcePos pos) {
  const Loc loc = to_loc(pos);
  const ir::MemoryOrder order = ops::memory_order(memory_order, "atomic_load", loc);
  return from_ir(builder(pos).atomic(AtomicKind::load, src.tile(), to_indices(src.subscripts()), {}, order, true, loc));
}

void atomic_store(const Access& dst, const Expr& value, const std::string& memory_order, SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  const ir::MemoryOrder order = ops::memory_order(memory_order, "atomic_store", loc);
  const ir::Expr v = to_dtype(value, b.dtype_of(dst.tile(), loc), loc);
  b.atomic(AtomicKind::store, dst.tile(), to_indices(dst.subscripts()), v, order, false, loc);
}

}  // namespace tilewright::lang
