// Random calls of the language with arguments that mostly do not fit: tiles and expressions of other kernels and
// programs, negative and huge extents, wrong ranks and dtypes, words in places where they have no meaning, bodies that
// C++ leaves. Each call is recorded or refused with an Error, and what comes out is a program for which everything
// holds.
#include "robustness/program_check.h"

#include <tilewright/error.h>
#include <tilewright/language.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>

namespace tilewright::robustness {
namespace {

namespace T = tilewright::lang;

constexpr int kMaxReports = 5;
constexpr int64_t kProgramsPerCompilation = 100;
constexpr size_t kPool = 40;
constexpr int kMaxDepth = 5;

struct Left : std::runtime_error {
  Left() : std::runtime_error("left") {}
};

// The values that calls take; they outlive their programs.
struct Pools {
  std::vector<T::Tile> tiles;
  std::vector<T::Expr> exprs;
  std::vector<std::unique_ptr<const T::Var>> vars;  // assigning to a Var stores

  template <class V>
  static void add(std::vector<V>& pool, V value, Random& random) {
    if (pool.size() < kPool)
      pool.push_back(std::move(value));
    else
      pool[size_t(random.between(0, int64_t(kPool) - 1))] = std::move(value);
  }
};

class Calls {
 public:
  Calls(Random& random, Pools& pools) : random_(random), pools_(pools) {}

  // A program of random calls; throws the Error that refuses it.
  Program program() {
    return T::prim_func(chance(97) ? "p" : odd_name(), [&] {
      for (int64_t i = between(0, 4); i > 0; --i) attempt([&] { declare(); });
      for (int64_t i = between(1, 2); i > 0; --i) attempt([&] { kernel(); });
      if (chance(5)) attempt([&] { statement(); });
    });
  }

  // What is not refused where it stands may be refused by an attempt that catches the error and goes on, as an author
  // might, or by one that does not.
  std::string complaint;

 private:
  bool chance(int percent) { return random_.chance(percent); }
  int64_t between(int64_t low, int64_t high) { return random_.between(low, high); }

  void attempt(const std::function<void()>& call) {
    if (chance(3)) return call();
    try {
      call();
    } catch (const Error& e) {
      if (complaint.empty()) complaint = check_refusal(e, false);
    } catch (const Left&) {
    }
  }

  std::string odd_name() {
    return random_.pick({"", "a b", "for", "x\ny", "\"", "*/", "é", "0a"}) + std::string(chance(5) ? 200 : 0, 'n');
  }
  std::string name() { return chance(3) ? odd_name() : fmt::format("n{}", ++names_); }
  DType dtype() { return chance(60) ? random_.pick({T::f32, T::i32, T::f16}) : DType(between(0, kNumDTypes - 1)); }

  int64_t number() {
    if (chance(85)) return between(-1, 12);
    return random_.pick<int64_t>({-1000, 100000, INT32_MAX, INT32_MIN, int64_t(1) << 32, int64_t(1) << 48,
                                  (int64_t(1) << 48) + 1, int64_t(1) << 62, INT64_MAX, INT64_MIN});
  }

  T::Expr expr(int depth = 0) {
    if (depth > 3 || chance(40)) {
      if (pools_.exprs.empty() || chance(45)) return chance(75) ? T::Expr(number()) : T::Expr(double(number()) / 4);
      if (!pools_.vars.empty() && chance(15)) return *random_.pick(pools_.vars);
      return random_.pick(pools_.exprs);
    }
    const auto e = [&] { return expr(depth + 1); };
    switch (between(0, 24)) {
      case 0: return e() + e();
      case 1: return e() - e();
      case 2: return e() * e();
      case 3: return e() / e();
      case 4: return e() % e();
      case 5: return e() < e();
      case 6: return e() == e();
      case 7: return e() && e();
      case 8: return !e();
      case 9: return e() & e();
      case 10: return e() << e();
      case 11: return T::ceildiv(e(), e());
      case 12: return T::max(e(), e());
      case 13: return T::if_then_else(e() < e(), e(), e());
      case 14: return T::select(e(), e(), e());
      case 15: return T::cast(e(), dtype());
      case 16: return T::reinterpret(e(), dtype());
      case 17: return T::exp(e());
      case 18: return T::popcount(e());
      case 19: return T::ldexp(e(), e());
      case 20: return T::clamp(e(), e(), e());
      case 21: return chance(50) ? T::max_value(dtype()) : T::infinity(dtype());
      case 22: return T::ieee_fmaf(e(), e(), e(), random_.pick({"rn", "rn", "rz", ""}));
      case 23: return chance(50) ? T::any_of(operand()) : T::let(e());
      default: return element();
    }
  }

  T::Shape shape() {
    std::vector<T::Expr> extents;
    for (int64_t rank = chance(5) ? between(0, 9) : between(1, 3); rank > 0; --rank) {
      extents.push_back(chance(80) ? T::Expr(between(1, 9)) : chance(50) ? T::Expr(number()) : expr(2));
    }
    return extents;
  }

  T::Tile tile() {
    if (pools_.tiles.empty() || chance(1)) return T::Tile(int(number()));
    return random_.pick(pools_.tiles);
  }

  std::vector<T::Subscript> subscripts(const T::Tile& t, bool slices) {
    std::vector<T::Subscript> out;
    int rank = 2;
    if (chance(95)) rank = t.rank();
    if (chance(4)) rank = int(between(0, 6));
    for (int d = 0; d < rank; ++d) {
      const int64_t kind = slices ? between(0, 9) : 0;
      if (kind < 7) {
        out.emplace_back(chance(70) ? T::Expr(between(0, 3)) : expr(2));
      } else if (kind < 9) {
        out.emplace_back(
            T::slice(chance(60) ? T::Expr(between(0, 2)) : expr(2), chance(60) ? T::Expr(between(2, 9)) : expr(2)));
      } else {
        out.emplace_back(T::all);
      }
    }
    return out;
  }

  T::Access element() {
    const T::Tile t = tile();
    return T::Access(t.id(), subscripts(t, chance(3)));
  }

  T::Operand operand() {
    if (!pools_.vars.empty() && chance(5)) return *random_.pick(pools_.vars);
    const T::Tile t = tile();
    if (chance(60)) return t;
    return T::Access(t.id(), subscripts(t, true));
  }

  T::Value value() {
    if (chance(50)) return T::Value(expr());
    if (!pools_.vars.empty() && chance(10)) return *random_.pick(pools_.vars);
    return chance(50) ? T::Value(tile()) : T::Value(element());
  }

  void add(const T::Tile& t) { Pools::add(pools_.tiles, t, random_); }
  void add(const T::Expr& e) { Pools::add(pools_.exprs, e, random_); }

  void declare() {
    switch (between(0, 6)) {
      case 0:
      case 1:
      case 2: {
        T::TensorOptions options{.safe_value = chance(80) ? 0 : double(number()) / 3};
        const T::Shape s = shape();
        if (chance(10)) options.strides = shape().extents();
        return add(T::tensor(name(), s, dtype(), options));
      }
      case 3: return add(T::scalar(name(), dtype()));
      case 4: return add(T::dynamic(name()));
      case 5: return add(T::alloc_global(shape(), dtype()));
      default: return view();
    }
  }

  void view() {
    const T::Tile t = tile();
    switch (between(0, 2)) {
      case 0: return add(T::reshape(t, chance(50) ? T::Shape({t.shape(-1), t.shape(0)}) : shape()));
      case 1: return add(T::view(t, dtype()));
      default: return add(T::view(t, shape(), dtype()));
    }
  }

  T::Threads threads() {
    if (chance(90)) return int(between(1, 256));
    if (chance(50)) return int(std::clamp<int64_t>(number(), INT32_MIN, INT32_MAX));
    return {int(between(-1, 40)), int(between(1, 40)), int(std::clamp<int64_t>(number(), INT32_MIN, INT32_MAX))};
  }

  T::Expr extent() { return chance(85) ? T::Expr(between(0, 4)) : expr(1); }

  void kernel() {
    const int64_t rank = between(1, 3);
    if (rank == 1) {
      auto [x] = T::Kernel({extent()}, {.threads = threads()});
      add(x);
      return body(0);
    }
    if (rank == 2) {
      auto [x, y] = T::Kernel({extent(), extent()}, {.threads = threads()});
      add(x), add(y);
      return body(0);
    }
    auto [x, y, z] = T::Kernel({extent(), extent(), extent()}, {.threads = threads()});
    add(z);
    body(0);
  }

  void body(int depth) {
    for (int64_t i = between(1, depth == 0 ? 12 : 4); i > 0; --i) {
      attempt([&] { chance(depth >= kMaxDepth ? 0 : 25) ? nested(depth) : statement(); });
    }
    if (chance(1)) throw Left();
  }

  template <class Range>
  void run_loop(Range&& range, int depth) {
    for (auto i : range) {
      if constexpr (std::is_same_v<decltype(i), T::Expr>)
        add(i);
      else
        add(i[0]), add(i[1]);
      body(depth + 1);
      if (chance(1)) break;
    }
  }

  void nested(int depth) {
    switch (between(0, 12)) {
      case 0: return run_loop(T::serial(extent()), depth);
      case 1: return run_loop(T::serial(expr(2), expr(2), chance(70) ? between(-2, 3) : number()), depth);
      case 2: return run_loop(T::Parallel(extent()), depth);
      case 3: return run_loop(T::Parallel(extent(), extent()), depth);
      case 4: {
        T::ParallelOptions options;
        if (chance(50)) options.coalesced_width = int(between(-1, 8));
        return run_loop(T::Parallel({extent(), extent()}, options), depth);
      }
      case 5: return run_loop(T::grid(extent(), extent()), depth);
      case 6: return run_loop(T::unroll(extent(), {.explicit_ = chance(20), .factor = int(between(-1, 5))}), depth);
      case 7: return run_loop(T::vectorized(extent(), extent()), depth);
      case 8: {
        T::PipelineOptions options{.num_stages = int(between(-1, 4))};
        if (chance(20))
          options.order = {int(between(-1, 2)), int(between(0, 2))}, options.stage = {0, int(between(-1, 2))};
        if (chance(10)) options.sync = {{int(between(-1, 3))}, {}};
        return run_loop(T::Pipelined(extent(), options), depth);
      }
      case 9: {
        const T::PersistentOptions options{.group_size = int(between(-1, 9))};
        return run_loop(T::Persistent({extent(), extent()}, expr(2), expr(2), options), depth);
      }
      case 10: return T::while_(chance(60) ? expr() < expr() : expr(), [&] { body(depth + 1); });
      case 11: return kernel();
      default: {
        auto scope = T::if_(chance(70) ? expr() < expr() : expr(), [&] { body(depth + 1); });
        if (chance(5)) statement();
        if (chance(50)) std::move(scope).else_([&] { body(depth + 1); });
      }
    }
  }

  void allocate() {
    const T::Shape s = shape();
    const std::string n = chance(80) ? "" : name();
    switch (between(0, 5)) {
      case 0:
      case 1: return add(T::alloc_shared(s, dtype(), n));
      case 2:
      case 3: return add(T::alloc_fragment(s, dtype(), n));
      case 4: return add(T::alloc_local(s, dtype(), {.name = n, .owner = chance(10) ? T::per_warp : T::per_block}));
      default: {
        const DType t = dtype();
        auto v = std::make_unique<const T::Var>(chance(80) ? T::alloc_var(t, expr()) : T::alloc_var(t));
        return Pools::add(pools_.vars, std::move(v), random_);
      }
    }
  }

  void annotate() {
    const T::Tile t = tile();
    switch (between(0, 6)) {
      case 0: return T::annotate_layout(t, T::make_swizzled_layout(t, chance(50) ? 0 : number()));
      case 1: return T::annotate_layout(t, T::make_padded_layout(t, between(-1, 9)));
      case 2: return T::annotate_layout(t, T::make_linear_layout(chance(80) ? t : tile()));
      case 3: return T::annotate_layout(t, T::make_fully_replicated_layout_fragment(chance(80) ? t : tile()));
      case 4: return T::annotate_layout(t, T::make_mma_accumulator_fragment(t, between(0, 4), number()));
      case 5: {
        const int64_t a = between(-1, 4), b = between(0, 4), rows = between(0, 5), cols = between(-1, 5);
        if (chance(50)) {
          return T::annotate_layout(t, T::Layout({rows, cols}, [&](int64_t i, int64_t j) { return a * i + b * j; }));
        }
        return T::annotate_layout(t, T::Fragment({rows},
                                                 [&](int64_t i) {
                                                   return T::Held{a * i, b};
                                                 },
                                                 {.replicas = between(0, 2), .num_threads = number()}));
      }
      default: return T::annotate_safe_value(t, double(number()) / 3);
    }
  }

  T::ReduceOptions reduction() {
    T::ReduceOptions options{
        .dim = int(between(-3, 3)), .clear = chance(80), .batch = chance(90) ? 1 : int(between(-1, 3))};
    options.nan_propagate = chance(10);
    if (chance(10)) options.accumulate = dtype();
    return options;
  }
  T::AtomicOptions atomic() {
    return {.memory_order = chance(90) ? "relaxed" : random_.pick({"acquire", "seq_cst", "none", ""}),
            .return_prev = chance(15)};
  }

  void statement() {
    switch (between(0, 28)) {
      case 0:
      case 1:
      case 2:
      case 3: return allocate();
      case 4:
      case 5: return void(element() = expr());
      case 6: return void(element() += expr());
      case 7: return T::copy(operand(), operand());
      case 8: return T::copy(tile(), tile());
      case 9: return T::fill(operand(), expr());
      case 10: return T::clear(tile());
      case 11: return T::transpose(operand(), operand());
      case 12: return T::gather(operand(), operand(), operand());
      case 13:
        return T::gemm(operand(), operand(), operand(),
                       {.transpose_A = chance(30),
                        .transpose_B = chance(30),
                        .clear_accum = chance(80) ? T::Expr(chance(50)) : expr(),
                        .k_pack = int(between(0, 3))});
      case 14: return T::reduce_sum(operand(), operand(), reduction());
      case 15: return T::reduce_max(operand(), operand(), reduction());
      case 16:
        return chance(50) ? T::reduce_bitor(operand(), operand(), reduction())
                          : T::reduce_any(operand(), operand(), reduction());
      case 17: return T::cumsum(operand(), operand(), {.dim = int(between(-3, 3)), .reverse = chance(50)});
      case 18: return T::cummax(operand(), {.dim = int(between(-2, 2)), .nan_propagate = chance(30)});
      case 19: return void(T::atomic_add(operand(), value(), atomic()));
      case 20: return add(T::Expr(T::atomic_max(operand(), value(), atomic())));
      case 21: return chance(50) ? T::atomic_addx2(element(), element()) : T::atomic_store(element(), expr());
      case 22: return T::print(value(), "text");
      case 23: return T::device_assert(expr(), "text");
      case 24: return chance(50) ? T::use_swizzle(int(between(-1, 5))) : T::assume(expr());
      case 25: return chance(50) ? T::loop_break() : T::loop_continue();
      case 26: return view();
      case 27: return annotate();
      default: return add(chance(50) ? T::let(expr()) : expr());
    }
  }

  Random& random_;
  Pools& pools_;
  int names_ = 0;
};

TEST(Build, RandomCalls) {
  const Deadline deadline(seconds(10) / 2);
  Runs runs;
  Tally& tally = runs.tally();
  int failures = 0;
  for (uint64_t seed = first_seed(); !deadline.passed() && failures < kMaxReports; ++seed) {
    // Three programs that share what they make.
    Random random(seed);
    Pools pools;
    for (int number = 0; number < 3; ++number) {
      const std::string what = fmt::format("random calls, seed {}, program {}", seed, number);
      ++tally.cases;
      begin_case(what, "");
      Calls calls(random, pools);
      std::string wrong, text;
      try {
        const Program program = calls.program();
        text = program.print();
        begin_case(what, text);
        wrong = check_program(program, what, random, tally.programs % kProgramsPerCompilation == 30, runs);
      } catch (const std::exception& e) {
        ++tally.refused;
        if (dynamic_cast<const Left*>(&e) == nullptr) wrong = check_refusal(e, false);
      }
      if (wrong.empty()) wrong = calls.complaint;
      if (wrong.empty()) continue;
      ++failures;
      ADD_FAILURE() << "TILEWRIGHT_FUZZ_SEED=" << seed << ": " << wrong.substr(0, 3000) << "\n" << text.substr(0, 6000);
    }
  }
  EXPECT_EQ(runs.finish(), std::vector<std::string>());
  fmt::print("{}\n", tally.text());
  EXPECT_GE(tally.refused, 100);
  EXPECT_GE(tally.programs, 20) << "calls that make programs";
}

}  // namespace
}  // namespace tilewright::robustness
