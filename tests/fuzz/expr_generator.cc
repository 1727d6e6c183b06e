#include "fuzz/expr_generator.h"

#include <algorithm>

namespace tilewright::fuzz {

bool TileInfo::empty() const {
  return std::any_of(shape.begin(), shape.end(), [](int64_t e) { return e == 0; });
}

DType ExprGenerator::any_dtype() {
  if (random_.chance(80)) return random_.pick({DType::f32, DType::f16, DType::bf16, DType::i32});
  return random_.pick({DType::i8, DType::i16, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64, DType::f64});
}

const Index& ExprGenerator::any_index() {
  static const Index kNone{T::cast(T::Expr(1), DType::i64), 1, 1};
  const bool nest = !around_.nest.empty() && (around_.indices.empty() || random_.chance(75));
  if (nest) return random_.pick(around_.nest);
  return around_.indices.empty() ? kNone : random_.pick(around_.indices);
}

T::Expr ExprGenerator::gathered(int64_t extent) {
  std::vector<const TileInfo*> sources;
  for (const TileInfo& tile : around_.tiles) {
    if (tile.frozen && is_integer(tile.dtype) && !tile.empty()) sources.push_back(&tile);
  }
  if (sources.empty() || gathers_ > 0) return T::Expr(random_.between(0, extent - 1));
  ++gathers_;
  const T::Expr value = element(*random_.pick(sources));
  --gathers_;
  return T::cast(value, DType::i64) % extent;
}

T::Expr ExprGenerator::index_into(int64_t extent) {
  const Index& v = any_index();
  const bool fits = v.low >= 0 && v.high < extent;
  switch (random_.between(0, 9)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (fits) return v.value + random_.between(0, extent - 1 - v.high);
      return T::max(T::min(v.value, T::Expr(extent - 1)), T::Expr(0));
    case 4:
      if (fits) return (extent - 1) - v.value;
      return v.value % extent;
    case 5: {
      const int64_t factor = random_.between(2, 5), offset = random_.between(0, 9);
      return (v.value * factor + offset) % extent;
    }
    case 6: return (v.value + any_index().value) % extent;
    case 7:
      if (v.low >= 0 && v.high / 2 < extent) return v.value / 2;
      return T::Expr(random_.between(0, extent - 1));
    case 8: return gathered(extent);
    default: return T::Expr(random_.between(0, extent - 1));
  }
}

T::Expr ExprGenerator::index_near(int64_t extent) {
  if (extent > 0 && random_.chance(60)) return index_into(extent);
  const Index& v = any_index();
  if (random_.chance(30)) {
    const int64_t factor = random_.between(1, 3), offset = random_.between(0, 4);
    return v.value * factor - offset;
  }
  return v.value + random_.between(-2, std::max<int64_t>(extent, 1));
}

T::Expr ExprGenerator::element(const TileInfo& tile) {
  std::vector<T::Subscript> at;
  const bool guard = !tile.global && tile.rank() > 0 && random_.chance(8);
  for (int64_t extent : tile.shape) at.emplace_back(tile.global || guard ? index_near(extent) : index_into(extent));
  const T::Expr value = T::Access(tile.tile.id(), at);
  if (!guard) return value;
  T::Expr inside = true;
  for (size_t d = 0; d < at.size(); ++d)
    inside = inside && T::Expr(0) <= at[d].begin && at[d].begin < T::Expr(tile.shape[d]);
  return T::if_then_else(inside, value, constant(tile.dtype));
}

T::Expr ExprGenerator::constant(DType t) {
  if (is_boolean(t)) return T::cast(T::Expr(random_.chance(50)), t);
  if (is_float(t)) return T::cast(T::Expr(random_.pick({0.0, 1.0, -1.0, 0.5, 2.0, -3.25, 0.1, 0.001, 7.0, -0.375})), t);
  const int64_t value =
      is_unsigned(t) ? random_.pick({0, 1, 2, 3, 7, 100, 255}) : random_.pick({0, 1, -1, 2, 3, -5, 7, 100, -128});
  return T::cast(T::Expr(value), t);
}

T::Expr ExprGenerator::leaf(DType t) {
  const int64_t kind = random_.between(0, 99);
  if (kind < 12) return constant(t);
  if (kind < 22) return T::cast(any_index().value, t);
  if (kind < 32 && !around_.scalars.empty()) return T::cast(random_.pick(around_.scalars).value, t);
  if (kind < 42 && !around_.own.empty()) return T::cast(random_.pick(around_.own).value, t);
  const bool global = !around_.tensors.empty() && (around_.tiles.empty() || random_.chance(20));
  const std::vector<TileInfo>& from = global ? around_.tensors : around_.tiles;
  for (int attempt = 0; attempt < 6 && !from.empty(); ++attempt) {
    const TileInfo& tile = random_.pick(from);
    if (tile.empty() || (tile.dtype != t && attempt < 4)) continue;
    return T::cast(element(tile), t);
  }
  return constant(t);
}

T::Expr ExprGenerator::select(DType t, int depth) {
  const T::Expr condition = random_.chance(35) ? exact_condition() : boolean(depth - 1);
  const T::Expr then = make(t, depth - 1), otherwise = make(t, depth - 1);
  return T::if_then_else(condition, then, otherwise);
}

// Mostly away from poles and overflow.
T::Expr ExprGenerator::function(DType t, int depth) {
  if (t != DType::f64 && random_.chance(20)) return T::cast(function(DType::f64, depth), t);
  const T::Expr x = make(t, depth - 1);
  const bool careful = random_.chance(85);
  const T::Expr positive = careful ? T::abs(x) + T::Expr(0.25) : x;
  const T::Expr small = careful ? T::min(T::max(x, T::Expr(-5.0)), T::Expr(5.0)) : x;
  switch (random_.between(0, 14)) {
    case 0: return T::abs(x);
    case 1: return T::exp(small);
    case 2: return T::exp2(small);
    case 3: return T::log(positive);
    case 4: return T::log2(positive);
    case 5: return T::sqrt(positive);
    case 6: return T::rsqrt(positive);
    case 7: return T::sin(small);
    case 8: return T::cos(small);
    case 9: return T::tanh(x);
    case 10: return T::erf(x);
    case 11: return T::sigmoid(x);
    case 12: return T::floor(x);
    case 13: return T::ceil(x);
    default: return T::round(x);
  }
}

T::Expr ExprGenerator::floating(DType t, int depth) {
  const int64_t kind = random_.between(0, 14);
  if (kind == 8 || kind == 14) return select(t, depth);
  if (kind > 10) return function(t, depth);
  const T::Expr a = kind == 9 ? make(any_dtype(), depth - 1) : make(t, depth - 1);
  if (kind == 9) return T::cast(a, t);
  if (kind == 10) return -a;
  const T::Expr b = make(t, depth - 1);
  switch (kind) {
    case 0:
    case 1: return a + b;
    case 2: return a - b;
    case 3:
    case 4: return a * b;
    case 5: return a / (random_.chance(85) ? T::abs(b) + T::Expr(0.5) : b);
    case 6: return T::min(a, b);
    default: return T::max(a, b);
  }
}

T::Expr ExprGenerator::integer(DType t, int depth) {
  const int64_t kind = random_.between(0, 15);
  if (kind == 13) return select(t, depth);
  if (kind == 15) return T::cast(make(random_.chance(20) ? DType::boolean : any_dtype(), depth - 1), t);
  const T::Expr a = make(t, depth - 1);
  if (kind == 14) return T::abs(a);
  const T::Expr b = make(t, depth - 1);
  const T::Expr amount = random_.chance(80) ? b & T::cast(T::Expr(7), t) : b;
  switch (kind) {
    case 0:
    case 1: return a + b;
    case 2: return a - b;
    case 3: return a * b;
    case 4: return T::floordiv(a, b);
    case 5: return T::floormod(a, b);
    case 6: return T::min(a, b);
    case 7: return T::max(a, b);
    case 8: return a & b;
    case 9: return a | b;
    case 10: return a ^ b;
    case 11: return a << amount;
    default: return a >> amount;
  }
}

T::Expr ExprGenerator::compare(int depth) {
  const DType t = random_.chance(35) ? DType::boolean : any_dtype();
  const T::Expr a = make(t, depth - 1), b = make(t, depth - 1);
  switch (is_boolean(t) ? random_.between(0, 1) : random_.between(0, 9)) {
    case 0:
    case 6:
    case 8: return a == b;
    case 1:
    case 7:
    case 9: return a != b;
    case 2: return a < b;
    case 3: return a <= b;
    case 4: return a > b;
    default: return a >= b;
  }
}

T::Expr ExprGenerator::boolean(int depth) {
  if (depth <= 0) return leaf(DType::boolean);
  const int64_t kind = random_.between(0, 12);
  if (kind > 8) return compare(depth);
  if (kind == 6) return T::cast(make(any_dtype(), depth - 1), DType::boolean);
  const T::Expr a = boolean(depth - 1);
  if (kind == 2) return !a;
  const T::Expr b = boolean(depth - 1);
  switch (kind) {
    case 0: return a && b;
    case 1: return a || b;
    case 3: return a & b;
    case 4: return a | b;
    case 5: return a ^ b;
    default: return T::if_then_else(exact_condition(), a, b);
  }
}

T::Expr ExprGenerator::exact_condition() {
  const Index& a = any_index();
  const T::Expr b = random_.chance(50) ? any_index().value : T::Expr(random_.between(a.low, a.high));
  const int64_t kind = random_.between(0, 6);
  switch (kind) {
    case 0: return a.value < b;
    case 1: return a.value <= b;
    case 2: return a.value != b;
    case 3: return a.value == b;
    case 4: return a.value % random_.between(2, 3) == T::Expr(0);
    case 5: return a.value > b || (a.value + any_index().value) % 2 == T::Expr(1);
    default: {
      const T::Expr other = any_index().value;
      return a.value >= b && other < T::Expr(random_.between(1, 9));
    }
  }
}

T::Expr ExprGenerator::make(DType t, int depth) {
  if (depth <= 0 || random_.chance(10)) return leaf(t);
  if (is_boolean(t)) return boolean(depth);
  return is_float(t) ? floating(t, depth) : integer(t, depth);
}

}  // namespace tilewright::fuzz
