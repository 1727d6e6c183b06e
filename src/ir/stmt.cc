#include "ir/stmt.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tilewright::ir {

std::string_view to_string(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial: return "serial";
    case LoopKind::unrolled: return "unrolled";
    case LoopKind::vectorized: return "vectorized";
    case LoopKind::pipelined: return "pipelined";
    case LoopKind::parallel: return "parallel";
  }
  return "?";
}

std::string_view to_string(AtomicKind kind) {
  constexpr std::array<std::string_view, kNumAtomicKinds> kNames = {"add", "max", "min",  "and",
                                                                    "or",  "xor", "load", "store"};
  return kNames[size_t(kind)];
}

std::string_view to_string(MemoryOrder order) {
  constexpr std::array<std::string_view, kNumMemoryOrders> kNames = {"relaxed", "consume", "acquire",
                                                                     "release", "acq_rel", "seq_cst"};
  return kNames[size_t(order)];
}

std::optional<ExprKind> expr_kind(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::add: return ExprKind::add;
    case AtomicKind::max: return ExprKind::max;
    case AtomicKind::min: return ExprKind::min;
    case AtomicKind::bit_and: return ExprKind::bit_and;
    case AtomicKind::bit_or: return ExprKind::bit_or;
    case AtomicKind::bit_xor: return ExprKind::bit_xor;
    case AtomicKind::load:
    case AtomicKind::store: break;
  }
  return std::nullopt;
}

bool is_atomic_dtype(DType t) {
  switch (t) {
    case DType::i32:
    case DType::u32:
    case DType::i64:
    case DType::u64:
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64: return true;
    default: return false;
  }
}

bool fits(AtomicKind kind, MemoryOrder order) {
  const bool acquires = order == MemoryOrder::acquire || order == MemoryOrder::consume;
  if (kind == AtomicKind::load) return order != MemoryOrder::release && order != MemoryOrder::acq_rel;
  if (kind == AtomicKind::store) return !acquires && order != MemoryOrder::acq_rel;
  return true;
}

const AttrValue* find_attr(const Attrs& attrs, std::string_view name) {
  const auto it = std::find_if(attrs.begin(), attrs.end(), [&](const auto& a) { return a.first == name; });
  return it == attrs.end() ? nullptr : &it->second;
}

std::string text_attr(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = find_attr(attrs, name);
  const std::string* s = value ? std::get_if<std::string>(value) : nullptr;
  return s ? *s : std::string();
}

bool bool_attr(const Attrs& attrs, std::string_view name, bool otherwise) {
  const AttrValue* value = find_attr(attrs, name);
  const bool* b = value ? std::get_if<bool>(value) : nullptr;
  return b ? *b : otherwise;
}

int64_t int_attr(const Attrs& attrs, std::string_view name, int64_t otherwise) {
  const AttrValue* value = find_attr(attrs, name);
  const int64_t* i = value ? std::get_if<int64_t>(value) : nullptr;
  return i ? *i : otherwise;
}

bool same_double(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool equal(const Attrs& a, const Attrs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const double* f = std::get_if<double>(&x.second);
    const double* g = std::get_if<double>(&y.second);
    return x.first == y.first && (f && g ? same_double(*f, *g) : x.second == y.second);
  });
}

namespace {

bool equal_dims(const LoopDim& a, const LoopDim& b) {
  return equal(a.var, b.var) && equal(a.begin, b.begin) && equal(a.extent, b.extent) && a.step == b.step;
}

struct Equal {
  bool operator()(const OpStmt& a, const OpStmt& b) const {
    return a.def == b.def && equal(a.attrs, b.attrs) && a.exec == b.exec && equal(a.scalars, b.scalars) &&
           std::equal(a.tiles.begin(), a.tiles.end(), b.tiles.begin(), b.tiles.end(),
                      [](const TileRef& x, const TileRef& y) { return equal(x, y); });
  }
  bool operator()(const LetStmt& a, const LetStmt& b) const { return equal(a.var, b.var) && equal(a.value, b.value); }
  bool operator()(const StoreStmt& a, const StoreStmt& b) const {
    return a.tile == b.tile && equal(a.indices, b.indices) && equal(a.value, b.value);
  }
  bool operator()(const AtomicStmt& a, const AtomicStmt& b) const {
    return a.kind == b.kind && a.tile == b.tile && a.order == b.order && equal(a.indices, b.indices) &&
           equal(a.value, b.value) && equal(a.prev, b.prev);
  }
  bool operator()(const ForStmt& a, const ForStmt& b) const {
    return a.kind == b.kind && equal(a.attrs, b.attrs) &&
           std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), equal_dims) &&
           equal(a.body, b.body) &&
           (a.schedule && b.schedule ? *a.schedule == *b.schedule : !a.schedule && !b.schedule);
  }
  bool operator()(const WhileStmt& a, const WhileStmt& b) const {
    return equal(a.condition, b.condition) && equal(a.body, b.body);
  }
  bool operator()(const IfStmt& a, const IfStmt& b) const {
    return equal(a.condition, b.condition) && equal(a.then, b.then) && equal(a.otherwise, b.otherwise);
  }
  bool operator()(const LanesStmt& a, const LanesStmt& b) const { return a.exec == b.exec && equal(a.body, b.body); }
  bool operator()(const RoleStmt& a, const RoleStmt& b) const {
    return a.name == b.name && a.exec == b.exec && a.max_regs == b.max_regs && a.elected == b.elected &&
           equal(a.body, b.body);
  }
  bool operator()(const BreakStmt&, const BreakStmt&) const { return true; }
  bool operator()(const ContinueStmt&, const ContinueStmt&) const { return true; }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

}  // namespace

bool equal(const Stmt& a, const Stmt& b) { return a == b || std::visit(Equal(), a->value, b->value); }

bool equal(const Block& a, const Block& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Stmt& x, const Stmt& y) { return equal(x, y); });
}

}  // namespace tilewright::ir
