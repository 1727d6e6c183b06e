#include "fuzz/forms.h"

#include "fuzz/random.h"
#include "target/dtype.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tilewright::fuzz {

namespace {

namespace detail = tilewright::lang::detail;

// What a seed fixes for all forms.
struct Spec {
  int64_t m, n, k;
  DType in, sum, out;
  bool by_rows;  // R is wanted as well
  bool maximum;  // of a row; else its sum
  uint64_t expression;

  explicit Spec(uint64_t seed) : Spec(Random(seed)) {}

 private:
  explicit Spec(Random random) {
    const auto extent = [&](int64_t most) {
      return random.chance(10) ? random.between(0, 1) : random.between(2, most);
    };
    m = extent(40), n = extent(40), k = extent(24);
    in = random.pick({DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8});
    sum = is_float(in) ? DType::f32 : DType::i32;
    out = is_float(in) ? random.pick({DType::f32, DType::f16, DType::bf16}) : random.pick({DType::i32, DType::i64});
    by_rows = random.chance(50);
    maximum = random.chance(50);
    expression = random.next();
  }
};

// A random expression, the same for a seed whatever its leaves are made of.
class Epilogue {
 public:
  Epilogue(const Spec& spec, std::vector<T::Expr> leaves)
      : random_(spec.expression), dtype_(spec.sum), leaves_(std::move(leaves)) {}
  T::Expr make(int depth) {
    if (depth == 0) return leaf();
    const int64_t kind = random_.between(0, 9);
    const T::Expr a = make(depth - 1);
    if (kind == 0) return T::abs(a);
    if (kind == 1) return a * constant();
    const T::Expr b = make(depth - 1);
    switch (kind) {
      case 2:
      case 3:
      case 4: return a + b;
      case 5: return a - b;
      case 6: return T::max(a, b);
      case 7: return T::min(a, b);
      default: return T::if_then_else(leaf() < b, a, b);
    }
  }

 private:
  T::Expr leaf() { return random_.chance(15) ? constant() : random_.pick(leaves_); }
  T::Expr constant() {
    const double value =
        is_float(dtype_) ? random_.pick({0.5, -1.0, 2.0, -0.5, 3.0}) : random_.pick({1.0, -1.0, 2.0, 3.0});
    return is_float(dtype_) ? T::cast(T::Expr(value), dtype_) : T::cast(T::Expr(int64_t(value)), dtype_);
  }

  Random random_;
  DType dtype_;
  std::vector<T::Expr> leaves_;
};

using Element = std::function<double(int64_t row, int64_t col)>;

class Builder {
 public:
  Builder(const Spec& spec, const Form& form, std::string prefix)
      : spec_(spec), form_(form), prefix_(std::move(prefix)), m_(spec.m), n_(spec.n), k_(spec.k) {}

  Computation build(uint64_t seed);

 private:
  T::Tile matrix(const char* name, DType dtype, const T::Expr& rows, const T::Expr& cols, int64_t num_rows,
                 int64_t num_cols, const Element& value);
  T::Tile stored(const char* name, DType dtype, bool transposed, const T::Expr& rows, const T::Expr& cols,
                 int64_t num_rows, int64_t num_cols, const Element& value);
  // A tile, or the middle of a larger one.
  T::Operand part(int64_t rows, int64_t cols, DType dtype);
  void each_tile(const std::function<void(const T::Expr& by, const T::Expr& bx)>& body);
  void products(const T::Tile& sum, const T::Expr& row, const T::Expr& col);
  void scalar_products(const T::Tile& sum, const T::Expr& row, const T::Expr& col);
  void epilogue(const T::Tile& sum, const T::Tile& result, const T::Expr& row, const T::Expr& col);
  void finish(const T::Tile& sum, const T::Expr& row, const T::Expr& col);
  void rows_of_results();

  const Spec& spec_;
  const Form& form_;
  std::string prefix_;
  T::Expr m_, n_, k_;
  T::Tile a_{0}, b_{0}, x_{0}, d_{0}, c_{0}, r_{0};
  Computation out_;
};

T::Tile Builder::matrix(const char* name, DType dtype, const T::Expr& rows, const T::Expr& cols, int64_t num_rows,
                        int64_t num_cols, const Element& value) {
  const int64_t gap = form_.padded ? 3 : 0, stride = std::max<int64_t>(num_cols, 1) + gap;
  TensorContents contents{.dtype = dtype, .shape = {num_rows, num_cols}, .strides = {stride, 1}, .bytes = {}};
  contents.contiguous = !form_.padded;
  contents.bytes.resize(size_t((std::max<int64_t>(num_rows, 1) * stride) * bytes_of(dtype)));
  for (int64_t i = 0; i < num_rows; ++i) {
    for (int64_t j = 0; j < num_cols; ++j) {
      std::byte* at = contents.bytes.data() + (i * stride + j) * bytes_of(dtype);
      is_float(dtype) ? store_float(dtype, at, value(i, j)) : store_int(dtype, at, int64_t(value(i, j)));
    }
  }
  out_.arguments.emplace_back(std::move(contents));
  T::TensorOptions options;
  if (form_.padded) options.strides = {stride, 1};
  return T::tensor(prefix_ + name, {rows, cols}, dtype, options);
}

T::Tile Builder::stored(const char* name, DType dtype, bool transposed, const T::Expr& rows, const T::Expr& cols,
                        int64_t num_rows, int64_t num_cols, const Element& value) {
  if (!transposed) return matrix(name, dtype, rows, cols, num_rows, num_cols, value);
  return matrix(name, dtype, cols, rows, num_cols, num_rows, [&](int64_t i, int64_t j) { return value(j, i); });
}

T::Operand Builder::part(int64_t rows, int64_t cols, DType dtype) {
  if (!form_.sliced) return T::Operand(T::alloc_shared({rows, cols}, dtype));
  const T::Tile whole = T::alloc_shared({rows + 5, cols + 3}, dtype);
  return T::Operand(whole(T::slice(2, 2 + rows), T::slice(1, 1 + cols)));
}

// All products of a block, k step by k step.
void Builder::products(const T::Tile& sum, const T::Expr& row, const T::Expr& col) {
  if (form_.scalar_products) return scalar_products(sum, row, col);
  const auto [bm, bn, bk] = std::array{form_.block_m, form_.block_n, form_.block_k};
  const T::Operand a = form_.transpose_A ? part(bk, bm, spec_.in) : part(bm, bk, spec_.in);
  const T::Operand b = form_.transpose_B ? part(bn, bk, spec_.in) : part(bk, bn, spec_.in);
  for (auto step : T::Pipelined(T::ceildiv(k_, bk), {.num_stages = form_.num_stages})) {
    const T::Expr k = step * bk;
    T::copy(form_.transpose_A ? a_(k, row) : a_(row, k), a);
    T::copy(form_.transpose_B ? b_(col, k) : b_(k, col), b);
    T::gemm(a, b, sum, {.transpose_A = form_.transpose_A, .transpose_B = form_.transpose_B});
  }
}

void Builder::scalar_products(const T::Tile& sum, const T::Expr& row, const T::Expr& col) {
  const auto element = [&](const T::Expr& i, const T::Expr& j) {
    for (auto k : T::serial(k_)) {
      const T::Expr a = form_.transpose_A ? a_(k, row + i) : a_(row + i, k);
      const T::Expr b = form_.transpose_B ? b_(col + j, k) : b_(k, col + j);
      sum(i, j) = T::Expr(sum(i, j)) + T::cast(a, spec_.sum) * T::cast(b, spec_.sum);
    }
  };
  for (auto [i, j] : T::Parallel(form_.block_m, form_.block_n)) element(i, j);
}

void Builder::epilogue(const T::Tile& sum, const T::Tile& result, const T::Expr& row, const T::Expr& col) {
  const auto element = [&](const T::Expr& i, const T::Expr& j) {
    const auto number = [&](const T::Expr& e) { return T::cast(e, spec_.sum); };
    T::Expr total = sum(i, j);
    if (form_.scale != 0) total = total * number(T::Expr(std::ldexp(1.0, -form_.scale)));
    const std::vector<T::Expr> leaves = {total,
                                         total,
                                         number(x_(0, col + j)),
                                         number(d_(row + i, col + j)),
                                         number((row + i) % 5),
                                         number((col + j) % 3)};
    result(i, j) = Epilogue(spec_, leaves).make(3);
  };
  if (form_.columns_first) {
    for (auto [j, i] : T::Parallel(form_.block_n, form_.block_m)) element(i, j);
  } else {
    for (auto [i, j] : T::Parallel(form_.block_m, form_.block_n)) element(i, j);
  }
}

// What is done with the sums of a block.
void Builder::finish(const T::Tile& sum, const T::Expr& row, const T::Expr& col) {
  const T::Tile result = T::alloc_fragment({form_.block_m, form_.block_n}, spec_.sum);
  epilogue(sum, result, row, col);
  T::copy(result, c_(row, col));
}

// R from C, by blocks of rows.
void Builder::rows_of_results() {
  const auto [bm, bn] = std::pair(form_.block_m, form_.block_n);
  const int depth = detail::open_kernel({T::ceildiv(m_, bm)}, {.threads = form_.threads}, T::SourcePos::here());
  const T::Expr row = detail::block_var(0) * bm;
  const T::Tile tile = T::alloc_fragment({bm, bn}, spec_.sum), combined = T::alloc_fragment({bm}, spec_.sum);
  // Less than every result; and what is beyond the last column adds nothing.
  const T::Expr nothing = T::cast(T::Expr(spec_.maximum ? -100000 : 0), spec_.sum);
  T::fill(combined, nothing);
  for (auto step : T::serial(T::ceildiv(n_, bn))) {
    T::copy(c_(row, step * bn), tile);
    for (auto [i, j] : T::Parallel(bm, bn)) tile(i, j) = T::if_then_else(step * bn + j < n_, tile(i, j), nothing);
    T::Tile source = tile;
    T::ReduceOptions options{.dim = 1, .clear = false};
    if (form_.columns_first) {
      source = T::alloc_fragment({bn, bm}, spec_.sum);
      T::transpose(tile, source);
      options.dim = 0;
    }
    spec_.maximum ? T::reduce_max(source, combined, options) : T::reduce_sum(source, combined, options);
  }
  for (auto i : T::Parallel(bm)) r_(row + i, 0) = combined(i);
  detail::close_kernel(depth);
}

void Builder::each_tile(const std::function<void(const T::Expr& by, const T::Expr& bx)>& body) {
  const T::Expr rows = T::ceildiv(m_, form_.block_m), cols = T::ceildiv(n_, form_.block_n);
  const T::KernelOptions options{.threads = form_.threads};
  constexpr int kWave = 3;
  const std::vector<T::Expr> grid = form_.persistent ? std::vector<T::Expr>{kWave} : std::vector<T::Expr>{cols, rows};
  const int depth = detail::open_kernel(grid, options, T::SourcePos::here());
  if (form_.persistent) {
    for (auto [y, x] : T::Persistent({rows, cols}, kWave, detail::block_var(0), {.group_size = 2})) body(y, x);
  } else {
    if (form_.swizzled) T::use_swizzle(2);
    body(detail::block_var(1), detail::block_var(0));
  }
  detail::close_kernel(depth);
}

Computation Builder::build(uint64_t seed) {
  if (form_.dynamic) {
    m_ = T::dynamic(prefix_ + "m"), n_ = T::dynamic(prefix_ + "n"), k_ = T::dynamic(prefix_ + "k");
  }
  // The same numbers whatever order they are stored in.
  const auto number = [seed](uint64_t which, int64_t i, int64_t j) {
    Random random(seed * 4 + which);
    Random here(random.next() + uint64_t(i) * 1000003 + uint64_t(j));
    return double(here.between(-3, 3));
  };
  const double factor = std::ldexp(1.0, form_.scale);
  a_ = stored("A", spec_.in, form_.transpose_A, m_, k_, spec_.m, spec_.k,
              [&](int64_t i, int64_t j) { return number(0, i, j) * factor; });
  b_ = stored("B", spec_.in, form_.transpose_B, k_, n_, spec_.k, spec_.n,
              [&](int64_t i, int64_t j) { return number(1, i, j); });
  x_ = matrix("x", spec_.in, 1, n_, 1, spec_.n, [&](int64_t i, int64_t j) { return number(2, i, j); });
  d_ = matrix("D", spec_.sum, m_, n_, spec_.m, spec_.n, [&](int64_t i, int64_t j) { return number(3, i, j); });
  const Element zero = [](int64_t, int64_t) { return 0.0; };
  out_.results.push_back(out_.arguments.size());
  c_ = matrix("C", spec_.out, m_, n_, spec_.m, spec_.n, zero);
  out_.results.push_back(out_.arguments.size());
  r_ = matrix("R", spec_.sum, m_, 1, spec_.m, 1, zero);

  const auto fresh_sum = [&] { return T::alloc_fragment({form_.block_m, form_.block_n}, spec_.sum); };
  const auto at = [&](const T::Expr& by, const T::Expr& bx) {
    return std::pair<T::Expr, T::Expr>(by * form_.block_m, bx * form_.block_n);
  };
  std::optional<T::Tile> between;
  if (form_.split) between = T::alloc_global({m_, n_}, spec_.sum);
  each_tile([&](const T::Expr& by, const T::Expr& bx) {
    const auto [row, col] = at(by, bx);
    const T::Tile sum = fresh_sum();
    T::clear(sum);
    products(sum, row, col);
    between ? T::copy(sum, (*between)(row, col)) : finish(sum, row, col);
  });
  if (between) {
    each_tile([&](const T::Expr& by, const T::Expr& bx) {
      const auto [row, col] = at(by, bx);
      const T::Tile sum = fresh_sum();
      T::copy((*between)(row, col), sum);
      finish(sum, row, col);
    });
  }
  if (spec_.by_rows) rows_of_results();
  return std::move(out_);
}

}  // namespace

std::vector<Form> forms_of(uint64_t seed) {
  Random random(~seed);
  Form plain{.name = "plain"};
  for (int64_t* extent : {&plain.block_m, &plain.block_n, &plain.block_k}) *extent = random.between(9, 24);
  std::vector<Form> forms = {plain};
  const auto add = [&](const char* name, const auto& change) {
    forms.push_back(plain);
    forms.back().name = name;
    change(forms.back());
  };
  const int64_t by = random.chance(50) ? 8 : -8;
  add("other block_m", [&](Form& f) { f.block_m += by; });
  add("other block_n", [&](Form& f) { f.block_n -= by; });
  add("other block_k", [&](Form& f) { f.block_k += by; });
  add("stages", [&](Form& f) { f.num_stages = int(random.between(1, 4)); });
  add("32 threads", [](Form& f) { f.threads = 32; });
  add("512 threads", [](Form& f) { f.threads = 512; });
  add("sliced tiles", [](Form& f) { f.sliced = true; });
  add("padded tensors", [](Form& f) { f.padded = true; });
  add("transposed A", [](Form& f) { f.transpose_A = true; });
  add("transposed B", [](Form& f) { f.transpose_B = true; });
  add("columns first", [](Form& f) { f.columns_first = true; });
  add("two kernels", [](Form& f) { f.split = true; });
  add("other order of blocks", [](Form& f) { f.swizzled = true; });
  add("persistent blocks", [](Form& f) { f.persistent = true; });
  add("dynamic extents", [](Form& f) { f.dynamic = true; });
  add("scalar products", [](Form& f) { f.scalar_products = true; });
  if (is_float(Spec(seed).in)) add("scaled", [&](Form& f) { f.scale = random.chance(50) ? 4 : -3; });
  add("several of these", [&](Form& f) {
    for (bool* choice :
         {&f.sliced, &f.padded, &f.transpose_A, &f.transpose_B, &f.columns_first, &f.split, &f.dynamic}) {
      *choice = random.chance(50);
    }
    f.block_m = random.between(1, 40), f.block_n = random.between(1, 40), f.block_k = random.between(1, 40);
    f.num_stages = int(random.between(0, 3));
  });
  return forms;
}

Computation add_computation(uint64_t seed, const Form& form, const std::string& prefix) {
  const Spec spec(seed);
  return Builder(spec, form, prefix).build(seed);
}

}  // namespace tilewright::fuzz
