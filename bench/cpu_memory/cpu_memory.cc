// Row operations of 2^24 f32 elements on the CPU against memcpy of the same bytes (read + written) on the same
// threads, two of them without --threads. Prints rates in GB/s: bytes of inputs and outputs over time; memcpy's counts
// what it reads and what it writes.
//
// Rows: rms_norm, softmax, elementwise (two inputs), reduce_sum, reduce_max along rows, at nine widths and ten random
// ones (seed on standard error; --seed draws the same ones again), rows = 2^24 / width. Blocks come from
// suggest_block_rows.
#include "../measure.h"
#include "kernels.h"

#include "runtime/thread_pool.h"

#include <tilewright/compile.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <map>
#include <new>
#include <random>

namespace {

using namespace tilewright;

constexpr int64_t kElems = int64_t(1) << 24;
constexpr size_t kFixedWidths = 9, kRandomWidths = 10;
// Calls of each side by turns. The fastest counts: a slower one was disturbed. On a busy machine a call without a
// disturbance is rare, so turns go on until the fastest ones of both sides agree.
constexpr int kLeastTurns = 9, kMostTurns = 90;
constexpr size_t kAgreeing = 3;
constexpr double kAgreement = 1.03;
constexpr int kCheckedRows = 40;

enum class Op { rms_norm, softmax, elementwise, reduce_sum, reduce_max };
constexpr Op kOps[] = {Op::rms_norm, Op::softmax, Op::elementwise, Op::reduce_sum, Op::reduce_max};

const char* name_of(Op op) {
  constexpr const char* kNames[] = {"rms_norm", "softmax", "elementwise", "reduce_sum", "reduce_max"};
  return kNames[int(op)];
}
bool reduces(Op op) { return op == Op::reduce_sum || op == Op::reduce_max; }

struct Case {
  Op op;
  int64_t width, rows;
  int block_rows, threads;
};

Case case_of(Op op, int64_t width, int threads) {
  const int64_t rows = kElems / width;
  return {.op = op,
          .width = width,
          .rows = rows,
          .block_rows = suggest_block_rows(rows, width, DType::f32, threads, cpu_limits()),
          .threads = threads};
}

Program program_of(const Case& c) {
  switch (c.op) {
    case Op::rms_norm: return bench::rms_norm(c.rows, c.width, c.block_rows);
    case Op::softmax: return bench::softmax(c.rows, c.width, c.block_rows);
    case Op::elementwise: return bench::elementwise(c.rows, c.width, c.block_rows);
    default: return bench::reduce(c.rows, c.width, c.block_rows, c.op == Op::reduce_max);
  }
}

// Memory as tensor libraries give it out: aligned to a cache line, unlike that of a vector.
template <class T>
struct LineAllocator {
  using value_type = T;
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
  void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(64)); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};
using Floats = std::vector<float, LineAllocator<float>>;

// What all cases share: the first rows * width elements are used.
struct Data {
  Data() : x(size_t(kElems)), r(size_t(kElems)), y(size_t(kElems) + size_t(kElems) / 2), row(kRowElems) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> some(1 << 16);
    for (float& v : some) v = normal(random);
    // A prime step, so that no two rows are alike for any width.
    for (size_t i = 0; i < x.size(); ++i) x[i] = some[i * 40503 % 65521], r[i] = some[i * 30011 % 65519];
    for (size_t i = 0; i < row.size(); ++i) row[i] = some[i];
  }
  static constexpr size_t kRowElems = 4096;
  Floats x, r, y, row;

  std::vector<Argument> arguments(const Case& c) {
    const auto matrix = [&](Floats& v) {
      return TensorView{.data = v.data(), .dtype = DType::f32, .shape = {c.rows, c.width}};
    };
    const TensorView wide{.data = row.data(), .dtype = DType::f32, .shape = {c.width}};
    switch (c.op) {
      case Op::rms_norm: return {matrix(x), wide, matrix(y)};
      case Op::softmax: return {matrix(x), matrix(y)};
      case Op::elementwise: return {matrix(x), matrix(r), wide, matrix(y)};
      default: return {matrix(x), TensorView{.data = y.data(), .dtype = DType::f32, .shape = {c.rows}}};
    }
  }
};

int64_t bytes_moved(const Case& c) {
  const int64_t tensor = c.rows * c.width * 4;
  if (reduces(c.op)) return tensor + c.rows * 4;
  return (c.op == Op::elementwise ? 3 : 2) * tensor;
}

// memcpy that reads bytes / 2 and writes bytes / 2, one piece a thread. The destination is the operation's output; the
// source its input, of which more than there is wraps around.
void copy_peer(Data& data, int64_t bytes, int threads) {
  const int64_t half = bytes / 2, input = int64_t(data.x.size() * sizeof(float));
  default_thread_pool(threads).parallel_for(threads, [&](int64_t part, int) {
    const int64_t begin = half * part / threads, end = half * (part + 1) / threads;
    const char* from = reinterpret_cast<const char*>(data.x.data());
    char* to = reinterpret_cast<char*>(data.y.data());
    for (int64_t at = begin; at < end;) {
      const int64_t source = at % input, count = std::min(end - at, input - source);
      std::memcpy(to + at, from + source, size_t(count));
      at += count;
    }
  });
}

// ---- what the results must be: rows in double, from the definitions ----

// The largest error over the bound of a few rows; at most 1 is right. u is the unit roundoff of f32, and a sum of n
// terms in any order is within n u of the sum of magnitudes.
double worst_error(const Case& c, const Data& data, std::span<const int64_t> rows) {
  constexpr double u = 0x1p-24, inf = std::numeric_limits<double>::infinity();
  double worst = 0;
  const auto judge = [&](double got, double want, double bound) {
    const double error = std::abs(got - want);
    worst = std::max(worst, !(error <= bound) ? (bound > 0 ? error / bound : inf) : bound > 0 ? error / bound : 0);
    if (std::isnan(got)) worst = inf;
  };
  const double n = double(c.width);
  for (const int64_t row : rows) {
    const float* x = &data.x[size_t(row * c.width)];
    const float* r = &data.r[size_t(row * c.width)];
    const float* y = &data.y[size_t(row * c.width)];
    double sum = 0, magnitudes = 0, squares = 0, top = -inf, exps = 0;
    for (int64_t j = 0; j < c.width; ++j) {
      sum += x[j], magnitudes += std::abs(x[j]), squares += double(x[j]) * x[j], top = std::max(top, double(x[j]));
    }
    for (int64_t j = 0; j < c.width; ++j) exps += std::exp(x[j] - top);
    if (c.op == Op::reduce_sum) judge(data.y[size_t(row)], sum, n * u * magnitudes);
    if (c.op == Op::reduce_max) judge(data.y[size_t(row)], top, 0);
    if (reduces(c.op)) continue;
    const double scale = 1 / std::sqrt(squares / n + bench::kEpsilon);
    for (int64_t j = 0; j < c.width; ++j) {
      const double w = data.row[size_t(j)];
      if (c.op == Op::rms_norm) {
        // Relative: n + 1 for the sum of rounded squares, half of it after the root; mean, epsilon, root, quotient and
        // two products round once each (rsqrt within 4 u).
        judge(y[j], x[j] * scale * w, std::abs(x[j] * scale * w) * ((n + 1) / 2 + 8) * u);
      } else if (c.op == Op::softmax) {
        // x - top rounds to u |x - top|, which exp turns into a relative error; exp within 2 u; the sum of n such terms
        // adds its own n u; quotient and product one each.
        double spread = 0;
        for (int64_t k = 0; k < c.width; ++k) spread = std::max(spread, top - x[k]);
        const double want = std::exp(x[j] - top) / exps;
        judge(y[j], want, want * (2 * spread + 4 + n + 3) * u);
      } else {
        const double want = std::max(double(x[j]) + r[j] + w, 0.0);
        judge(y[j], want, 2 * u * (std::abs(x[j]) + std::abs(r[j]) + std::abs(w)));
      }
    }
  }
  return worst;
}

bool is_right(const Case& c, const Data& data) {
  std::mt19937_64 random(uint64_t(c.width));
  std::vector<int64_t> rows = {0, c.rows - 1};
  for (int i = 0; i < kCheckedRows; ++i) rows.push_back(int64_t(random() % uint64_t(c.rows)));
  const double worst = worst_error(c, data, rows);
  if (worst <= 1) return true;
  fmt::print(stderr, "bench: {} of width {} is wrong: {:.3g} times the error bound\n", name_of(c.op), c.width, worst);
  return false;
}

// ---- measurement ----

// Of one thread, the time that it ran: what a busy machine takes from it does not count. Of several, what passed.
double clock_ms(int threads) {
  timespec now = {};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return 1e3 * double(now.tv_sec) + 1e-6 * double(now.tv_nsec);
}

double call_ms(const std::function<void()>& f, int threads) {
  const double start = clock_ms(threads);
  f();
  return clock_ms(threads) - start;
}

class Fastest {
 public:
  void add(double ms) {
    ms_.insert(std::upper_bound(ms_.begin(), ms_.end(), ms), ms);
    if (ms_.size() > kAgreeing) ms_.pop_back();
  }
  bool agree() const { return ms_.size() == kAgreeing && ms_.back() <= kAgreement * ms_.front(); }
  double ms() const { return ms_.front(); }

 private:
  std::vector<double> ms_;  // ascending
};

// The fastest call of each side. They take turns call by call, on the same threads, ours last.
bench::Pair measure_turns(const std::function<void()>& ours, const std::function<void()>& peer, int threads) {
  Fastest our_calls, peer_calls;
  ours();
  for (int turn = 0; turn < kMostTurns; ++turn) {
    if (turn >= kLeastTurns && our_calls.agree() && peer_calls.agree()) break;
    peer_calls.add(call_ms(peer, threads));
    our_calls.add(call_ms(ours, threads));
  }
  return {.ours_ms = our_calls.ms(), .peer_ms = peer_calls.ms()};
}

struct Summary {
  std::map<Op, std::vector<double>> ratios;
  bool wrong = false;
};

void measure(const Case& c, const CompiledKernel& kernel, Data& data, bool json, Summary& summary) {
  const Launch launch = kernel.bind_arguments(data.arguments(c));
  const int64_t bytes = bytes_moved(c);
  const bench::Pair ms = measure_turns([&] { launch(); }, [&] { copy_peer(data, bytes, c.threads); }, c.threads);
  if (!is_right(c, data)) summary.wrong = true;
  const bench::Row row{.name = name_of(c.op),
                       .shape = fmt::format("{}x{}", c.rows, c.width),
                       .dtype = "f32",
                       .tile = fmt::format("{}x{}", c.block_rows, c.width),
                       .peer_name = "memcpy",
                       .unit = "GB/s",
                       .threads = c.threads,
                       .ours = 1e-6 * double(bytes) / ms.ours_ms,
                       .peer = 1e-6 * double(bytes) / ms.peer_ms,
                       .ratio = ms.peer_ms / ms.ours_ms};
  bench::print_row(row, json);
  summary.ratios[c.op].push_back(*row.ratio);
}

void print_summary(const Summary& summary) {
  for (const auto& [op, ratios] : summary.ratios) {
    double log_sum = 0;
    for (const double r : ratios) log_sum += std::log(r);
    fmt::print(stderr, "cpu_memory: {:<12} geometric mean {:.2f}, lowest {:.2f} of {} against memcpy\n", name_of(op),
               std::exp(log_sum / double(ratios.size())), *std::min_element(ratios.begin(), ratios.end()),
               ratios.size());
  }
}

// Compiles all cases, two at a time.
std::vector<CompiledKernel> compile_all(const std::vector<Case>& cases) {
  std::vector<std::optional<CompiledKernel>> made(cases.size());
  default_thread_pool(2).parallel_for(int64_t(cases.size()), [&](int64_t i, int) {
    made[size_t(i)] = compile(program_of(cases[size_t(i)]), {.target = "cpu", .num_threads = cases[size_t(i)].threads});
  });
  std::vector<CompiledKernel> out;
  for (std::optional<CompiledKernel>& kernel : made) out.push_back(std::move(*kernel));
  return out;
}

struct Options {
  bool json = false, force = false;
  int threads = 2;
  uint64_t seed = std::random_device{}();
  std::vector<int64_t> widths;  // instead of the fixed and the random ones
  std::vector<Op> ops = {std::begin(kOps), std::end(kOps)};
};

std::vector<int64_t> widths_of(const Options& options) {
  if (!options.widths.empty()) return options.widths;
  std::mt19937_64 random(options.seed);
  std::vector<int64_t> widths = {96, 160, 192, 256, 320, 384, 512, 640, 1024};
  while (widths.size() < kFixedWidths + kRandomWidths) {
    const int64_t width = 64 + int64_t(random() % 2048);
    if (std::find(widths.begin(), widths.end(), width) == widths.end()) widths.push_back(width);
  }
  return widths;
}

int run(const Options& options) {
  bench::refuse_under_load(options.force);
  if (options.widths.empty()) fmt::print(stderr, "cpu_memory: seed {}\n", options.seed);
  std::vector<Case> cases;
  for (const Op op : options.ops) {
    for (const int64_t width : widths_of(options)) cases.push_back(case_of(op, width, options.threads));
  }
  const std::vector<CompiledKernel> kernels = compile_all(cases);
  Data data;
  Summary summary;
  for (size_t i = 0; i < cases.size(); ++i) measure(cases[i], kernels[i], data, options.json, summary);
  print_summary(summary);
  return summary.wrong ? 1 : 0;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

// The whole word as a number.
template <class N>
bool read_number(const std::string& word, N& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size();
}

// Nothing for an option that is not known, or not what it wants.
std::optional<Options> parse(std::span<char* const> args) {
  Options out;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string arg = args[i];
    if (arg == "--json" || arg == "--force") {
      (arg == "--json" ? out.json : out.force) = true;
      continue;
    }
    if (++i == args.size()) return std::nullopt;
    const std::string value = args[i];
    if (arg == "--threads") {
      if (!read_number(value, out.threads) || out.threads < 1) return std::nullopt;
    } else if (arg == "--seed") {
      if (!read_number(value, out.seed)) return std::nullopt;
    } else if (arg == "--widths") {
      for (const std::string& word : split(value)) {
        if (!read_number(word, out.widths.emplace_back())) return std::nullopt;
      }
      if (out.widths.empty() || *std::min_element(out.widths.begin(), out.widths.end()) < 1) return std::nullopt;
      if (*std::max_element(out.widths.begin(), out.widths.end()) > int64_t(Data::kRowElems)) return std::nullopt;
    } else if (arg == "--ops") {
      std::vector<Op> some;
      for (const Op op : kOps) {
        const std::vector<std::string> words = split(value);
        if (std::find(words.begin(), words.end(), name_of(op)) != words.end()) some.push_back(op);
      }
      if (some.empty() || some.size() != split(value).size()) return std::nullopt;
      out.ops = std::move(some);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::optional<Options> options = parse({argv + 1, size_t(argc - 1)});
    if (!options) {
      fmt::print(stderr,
                 "usage: cpu_memory [--json] [--force] [--threads N] [--seed N] [--widths W,...] [--ops NAME,...]\n");
      return 2;
    }
    return run(*options);
  } catch (const Error& e) {
    return bench::report(e);
  }
}
