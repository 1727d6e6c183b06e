#include "layout/fragment.h"

#include "layout/checked.h"
#include "support/error.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace tilewright::layout {

namespace {

constexpr int64_t kMaxEnumeration = int64_t(1) << 24;

int64_t product(const std::vector<FragmentMode>& modes) {
  int64_t out = 1;
  for (const FragmentMode& m : modes) out = checked_mul(out, m.extent);
  return out;
}

void check_modes(const std::vector<int64_t>& shape, const std::vector<FragmentMode>& modes, bool replicas) {
  for (const FragmentMode& m : modes) {
    if (m.extent < 1 || m.stride < 0) {
      throw invalid_kernel({}, "a fragment's mode has extent {} and stride {}", m.extent, m.stride)
          .hint("extents are 1 or more, strides 0 or more");
    }
    if (m.dim < (replicas ? -1 : 0) || m.dim >= int(shape.size())) {
      throw invalid_kernel({}, "a fragment's mode moves dimension {} of a tile of rank {}", m.dim, shape.size());
    }
  }
}

void add_digits(const std::vector<FragmentMode>& modes, int64_t number, std::vector<int64_t>& at) {
  for (const FragmentMode& m : modes) {
    if (m.dim >= 0) at[size_t(m.dim)] += number % m.extent * m.stride;
    number /= m.extent;
  }
}

int64_t ceildiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

void check_enumerable(const Fragment& fragment) {
  if (checked_mul(fragment.num_threads(), fragment.num_regs()) <= kMaxEnumeration) return;
  throw internal_error({}, "a fragment of {} threads and {} registers is too large to enumerate",
                       fragment.num_threads(), fragment.num_regs());
}

// Calls f(thread, reg, coordinates) for each pair that is not void.
template <class F>
void for_each_element(const Fragment& fragment, F f) {
  check_enumerable(fragment);
  for (int64_t t = 0, threads = fragment.num_threads(); t < threads; ++t) {
    for (int64_t r = 0, regs = fragment.num_regs(); r < regs; ++r) {
      if (const auto at = fragment.coordinates(t, r)) f(t, r, *at);
    }
  }
}

int64_t num_elements(const Fragment& fragment) {
  int64_t out = 1;
  for (int64_t extent : fragment.shape()) out = checked_mul(out, extent);
  return out;
}

using OwnerMap = std::map<std::vector<int64_t>, std::set<int64_t>>;

OwnerMap threads_of_elements(const Fragment& fragment) {
  OwnerMap out;
  for_each_element(fragment, [&](int64_t t, int64_t, const std::vector<int64_t>& at) { out[at].insert(t); });
  return out;
}

}  // namespace

Fragment::Fragment(std::vector<int64_t> shape, std::vector<FragmentMode> threads, std::vector<FragmentMode> regs)
    : shape_(std::move(shape)), threads_(std::move(threads)), regs_(std::move(regs)) {
  check_modes(shape_, threads_, true);
  check_modes(shape_, regs_, false);
  product(threads_);
  product(regs_);
}

int64_t Fragment::num_threads() const { return product(threads_); }
int64_t Fragment::num_regs() const { return product(regs_); }

std::optional<std::vector<int64_t>> Fragment::coordinates(int64_t thread, int64_t reg) const {
  std::vector<int64_t> at(shape_.size(), 0);
  add_digits(threads_, thread, at);
  add_digits(regs_, reg, at);
  for (size_t d = 0; d < at.size(); ++d) {
    if (at[d] >= shape_[d]) return std::nullopt;
  }
  return at;
}

int64_t Fragment::replica(int64_t thread) const {
  int64_t out = 0, scale = 1;
  for (const FragmentMode& m : threads_) {
    if (m.dim < 0 || m.stride == 0) {
      out += thread % m.extent * scale;
      scale *= m.extent;
    }
    thread /= m.extent;
  }
  return out;
}

bool Fragment::has_replicas() const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [](const FragmentMode& m) { return m.extent > 1 && (m.dim < 0 || m.stride == 0); });
}

bool Fragment::has_voids() const {
  // Coordinates grow with every digit, so the largest of each dimension decides.
  std::vector<int64_t> last(shape_.size(), 0);
  for (const auto* modes : {&threads_, &regs_}) {
    for (const FragmentMode& m : *modes) {
      if (m.dim >= 0) last[size_t(m.dim)] += (m.extent - 1) * m.stride;
    }
  }
  for (size_t d = 0; d < last.size(); ++d) {
    if (last[d] >= shape_[d]) return true;
  }
  return false;
}

std::vector<Owner> owners(const Fragment& fragment, std::span<const int64_t> element) {
  std::vector<Owner> out;
  for_each_element(fragment, [&](int64_t t, int64_t r, const std::vector<int64_t>& at) {
    if (std::equal(at.begin(), at.end(), element.begin(), element.end())) out.push_back({.thread = t, .reg = r});
  });
  return out;
}

bool is_complete(const Fragment& fragment) {
  return int64_t(threads_of_elements(fragment).size()) == num_elements(fragment);
}

bool is_unique(const Fragment& fragment) {
  std::set<std::pair<std::vector<int64_t>, int64_t>> held;  // (element, thread)
  std::set<std::vector<int64_t>> stored;                    // by a thread with replica 0
  bool unique = true;
  for_each_element(fragment, [&](int64_t t, int64_t, const std::vector<int64_t>& at) {
    unique &= held.emplace(at, t).second;
    if (fragment.replica(t) == 0) unique &= stored.insert(at).second;
  });
  return unique;
}

bool contains(const Fragment& a, const Fragment& b) {
  const OwnerMap of_a = threads_of_elements(a), of_b = threads_of_elements(b);
  for (const auto& [at, threads] : of_b) {
    const auto it = of_a.find(at);
    if (it == of_a.end()) return false;
    if (!std::includes(it->second.begin(), it->second.end(), threads.begin(), threads.end())) return false;
  }
  return true;
}

Fragment coalesced(const Fragment& fragment) {
  const auto joined = [](const std::vector<FragmentMode>& modes) {
    std::vector<FragmentMode> out;
    for (FragmentMode m : modes) {
      if (m.extent == 1) continue;
      if (m.stride == 0) m.dim = -1;
      if (m.dim < 0) m.stride = 0;
      const bool goes_on =
          !out.empty() && out.back().dim == m.dim && m.stride == checked_mul(out.back().extent, out.back().stride);
      if (goes_on)
        out.back().extent *= m.extent;
      else
        out.push_back(m);
    }
    return out;
  };
  std::vector<FragmentMode> regs = joined(fragment.reg_modes());
  // Registers of no dimension do not exist: such a mode repeats what the thread holds.
  for (FragmentMode& m : regs) m.dim = std::max(m.dim, 0);
  return Fragment(fragment.shape(), joined(fragment.thread_modes()), std::move(regs));
}

Fragment reduced(const Fragment& fragment, int dim, bool keep_dim) {
  const auto moved = [&](FragmentMode m) {
    if (!keep_dim && m.dim > dim) --m.dim;
    return m;
  };
  std::vector<int64_t> shape = fragment.shape();
  if (keep_dim)
    shape[size_t(dim)] = 1;
  else
    shape.erase(shape.begin() + dim);
  std::vector<FragmentMode> threads, regs;
  for (const FragmentMode& m : fragment.thread_modes()) {
    threads.push_back(m.dim == dim ? FragmentMode{.extent = m.extent} : moved(m));
  }
  for (const FragmentMode& m : fragment.reg_modes()) {
    if (m.dim != dim) regs.push_back(moved(m));
  }
  return Fragment(std::move(shape), std::move(threads), std::move(regs));
}

namespace {

// Splits `count` steps of `stride` in row-major order over the rest of the shape: modes that cover it, the last
// dimension first. `taken` elements of the last dimension are covered already.
struct FlatCursor {
  std::span<const int64_t> shape;
  int dim;
  int64_t stride = 1;  // in the current dimension
};

// Modes for `count` consecutive positions in row-major order from the cursor on; what does not divide a dimension stays
// in it and makes voids.
std::vector<FragmentMode> take(FlatCursor& cursor, int64_t count) {
  std::vector<FragmentMode> out;
  while (count > 1 && cursor.dim >= 0) {
    const int64_t left = ceildiv(cursor.shape[size_t(cursor.dim)], cursor.stride);
    if (left <= 1) {
      --cursor.dim;
      cursor.stride = 1;
      continue;
    }
    // The largest divisor of `count` that stays inside the dimension; what would leave it moves on to the next one.
    int64_t extent = std::min(left, count);
    while (count % extent != 0) --extent;
    if (extent == 1) {
      // No divisor fits: lanes beyond the dimension's end are void.
      out.push_back({.extent = count, .dim = cursor.dim, .stride = cursor.stride});
      cursor.stride *= count;
      return out;
    }
    out.push_back({.extent = extent, .dim = cursor.dim, .stride = cursor.stride});
    cursor.stride *= extent;
    count /= extent;
  }
  if (count > 1) out.push_back({.extent = count});  // more threads than elements: replicas
  return out;
}

}  // namespace

Fragment flat(std::span<const int64_t> shape, int64_t num_threads, int64_t vector) {
  FlatCursor cursor{.shape = shape, .dim = int(shape.size()) - 1};
  std::vector<FragmentMode> regs;
  if (vector > 1) {
    regs.push_back({.extent = vector, .dim = cursor.dim, .stride = 1});
    cursor.stride = vector;
  }
  std::vector<FragmentMode> threads = take(cursor, num_threads);
  for (; cursor.dim >= 0; --cursor.dim, cursor.stride = 1) {
    const int64_t left = ceildiv(shape[size_t(cursor.dim)], cursor.stride);
    if (left > 1) regs.push_back({.extent = left, .dim = cursor.dim, .stride = cursor.stride});
  }
  return Fragment(std::vector<int64_t>(shape.begin(), shape.end()), std::move(threads), std::move(regs));
}

namespace {

void add(std::vector<FragmentMode>& modes, int64_t extent, int dim, int64_t stride) {
  if (extent > 1) modes.push_back({.extent = extent, .dim = dim, .stride = stride});
}

}  // namespace

Fragment row_aligned(int64_t rows, int64_t cols, int64_t num_threads, int64_t lanes, int64_t vector) {
  const int64_t rows_at_once = num_threads / lanes;
  std::vector<FragmentMode> threads, regs;
  add(threads, lanes, 1, vector);
  add(threads, rows_at_once, 0, 1);
  add(regs, vector, 1, 1);
  add(regs, ceildiv(cols, lanes * vector), 1, lanes * vector);
  add(regs, ceildiv(rows, rows_at_once), 0, rows_at_once);
  return Fragment({rows, cols}, std::move(threads), std::move(regs));
}

Fragment mma_accumulator(int64_t m, int64_t n, int64_t warps_m, int64_t warps_n) {
  const int64_t tiles_m = ceildiv(ceildiv(m, warps_m), 16), tiles_n = ceildiv(ceildiv(n, warps_n), 8);
  std::vector<FragmentMode> threads = {{.extent = 4, .dim = 1, .stride = 2}, {.extent = 8, .dim = 0, .stride = 1}};
  add(threads, warps_m, 0, tiles_m * 16);
  add(threads, warps_n, 1, tiles_n * 8);
  std::vector<FragmentMode> regs = {{.extent = 2, .dim = 1, .stride = 1}, {.extent = 2, .dim = 0, .stride = 8}};
  add(regs, tiles_n, 1, 8);
  add(regs, tiles_m, 0, 16);
  return Fragment({m, n}, std::move(threads), std::move(regs));
}

Fragment wgmma_accumulator(int64_t m, int64_t n, int64_t groups_m, int64_t groups_n) {
  const int64_t tiles_m = ceildiv(ceildiv(m, groups_m), 64), tiles_n = ceildiv(ceildiv(n, groups_n), 8);
  std::vector<FragmentMode> threads = {{.extent = 4, .dim = 1, .stride = 2},
                                       {.extent = 8, .dim = 0, .stride = 1},
                                       {.extent = 4, .dim = 0, .stride = 16}};
  add(threads, groups_m, 0, tiles_m * 64);
  add(threads, groups_n, 1, tiles_n * 8);
  std::vector<FragmentMode> regs = {{.extent = 2, .dim = 1, .stride = 1}, {.extent = 2, .dim = 0, .stride = 8}};
  add(regs, tiles_n, 1, 8);
  add(regs, tiles_m, 0, 64);
  return Fragment({m, n}, std::move(threads), std::move(regs));
}

// ---- text ----

namespace {

std::string modes_text(const std::vector<FragmentMode>& modes) {
  std::string out;
  for (const FragmentMode& m : modes) {
    out += out.empty() ? "" : ",";
    out += m.dim < 0 ? fmt::format("{}:-", m.extent) : fmt::format("{}:d{}*{}", m.extent, m.dim, m.stride);
  }
  return out;
}

class FragmentParser {
 public:
  explicit FragmentParser(std::string_view text) : text_(text) {}

  Fragment parse() {
    std::vector<int64_t> shape;
    expect("[");
    if (!accept("]")) {
      do {
        shape.push_back(number());
      } while (accept(","));
      expect("]");
    }
    expect(" threads(");
    std::vector<FragmentMode> threads = modes();
    expect(" regs(");
    std::vector<FragmentMode> regs = modes();
    if (at_ != text_.size()) fail("the end");
    return Fragment(std::move(shape), std::move(threads), std::move(regs));
  }

 private:
  bool accept(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) fail(word);
  }
  [[noreturn]] void fail(std::string_view expected) const {
    throw invalid_kernel({}, "fragment '{}': {} is expected at column {}", text_, expected, at_ + 1)
        .hint("a fragment is written like [16,8] threads(4:d1*2,8:d0*1) regs(2:d1*1,2:d0*8)");
  }
  int64_t number() {
    int64_t value = 0;
    const size_t start = at_;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
      value = checked_add(checked_mul(value, 10), text_[at_] - '0');
    }
    if (at_ == start) fail("a number");
    return value;
  }
  std::vector<FragmentMode> modes() {
    std::vector<FragmentMode> out;
    if (accept(")")) return out;
    do {
      FragmentMode m{.extent = number()};
      expect(":");
      if (!accept("-")) {
        expect("d");
        const int64_t dim = number();
        if (dim > 1000) fail("a dimension");
        m.dim = int(dim);
        expect("*");
        m.stride = number();
      }
      out.push_back(m);
    } while (accept(","));
    expect(")");
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string to_string(const Fragment& fragment) {
  std::string shape;
  for (int64_t extent : fragment.shape()) shape += fmt::format("{}{}", shape.empty() ? "" : ",", extent);
  return fmt::format("[{}] threads({}) regs({})", shape, modes_text(fragment.thread_modes()),
                     modes_text(fragment.reg_modes()));
}

Fragment parse_fragment(std::string_view text) { return FragmentParser(text).parse(); }

}  // namespace tilewright::layout
