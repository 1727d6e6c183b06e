// The counters of a check by line, for people.
#include <tilewright/check.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace tilewright {

namespace {

int64_t cost(const Counters& c) { return c.shared.transactions + c.global.transactions; }

std::string name_of(const Loc& loc) {
  if (!loc.known()) return "(no line)";
  const std::string_view path = loc.path();
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), loc.line);
}

// A point where nothing is, so that what counts stands out.
std::string number(int64_t n) { return n == 0 ? "." : fmt::to_string(n); }

std::string level(const Counters::Level& l) {
  return fmt::format(" {:>9} {:>9} {:>8} {:>10} {:>10}", number(l.requests), number(l.transactions), number(l.excess()),
                     number(l.read_bytes), number(l.written_bytes));
}

std::string row(const std::string& name, const Counters& c) {
  std::string copies;
  for (const auto& [width, bytes] : c.copied_bytes) copies += fmt::format(" {}x{}", bytes / width, width);
  std::string out = fmt::format("{:<26}{}{} {:>8} {:>10} {:>8} {:>8} {}", name, level(c.global), level(c.shared),
                                number(c.mma), number(c.flops), number(c.barriers), number(c.atomics), copies);
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string head() {
  const std::string columns =
      fmt::format(" {:>9} {:>9} {:>8} {:>10} {:>10}", "requests", "sectors", "excess", "B read", "B written");
  const std::string shared =
      fmt::format(" {:>9} {:>9} {:>8} {:>10} {:>10}", "requests", "wavefr.", "conflict", "B read", "B written");
  return fmt::format("{:<26} {:-^50} {:-^50}\n{:<26}{}{} {:>8} {:>10} {:>8} {:>8}  async copies\n", "",
                     " global memory ", " shared memory ", "line", columns, shared, "mma", "flops", "barriers",
                     "atomics");
}

// What asynchronous copies hid behind products.
std::string in_flight(const Counters& c) {
  if (c.mma_with.empty() || c.copied_bytes.empty()) return {};
  std::vector<std::string> parts;
  for (auto it = c.mma_with.rbegin(); it != c.mma_with.rend(); ++it) {
    parts.push_back(fmt::format("{} groups, {} bytes a warp: {} mma", it->first.groups, it->first.bytes, it->second));
  }
  return fmt::format("copies in flight during products: {}\n", fmt::join(parts, "; "));
}

}  // namespace

std::vector<LineCounters> CheckResult::author_lines() const {
  std::vector<LineCounters> out;
  for (const LineCounters& line : lines) {
    const auto same = [&](const LineCounters& other) {
      return other.kernel == line.kernel && other.loc.path() == line.loc.path() && other.loc.line == line.loc.line;
    };
    const auto found = std::find_if(out.begin(), out.end(), same);
    if (found == out.end())
      out.push_back({.kernel = line.kernel, .loc = line.loc, .counters = line.counters});
    else
      found->counters += line.counters;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return cost(a.counters) > cost(b.counters); });
  return out;
}

Counters CheckResult::total() const {
  Counters out;
  for (const LineCounters& line : lines) out += line.counters;
  return out;
}

std::string CheckResult::counter_table(int most, bool generated) const {
  if (!not_counted.empty()) return fmt::format("not counted: {}\n", not_counted);
  std::vector<LineCounters> sorted = generated ? lines : author_lines();
  if (sorted.empty()) return {};
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return cost(a.counters) > cost(b.counters); });
  std::string out = head();
  const bool one_kernel =
      std::all_of(sorted.begin(), sorted.end(), [&](const auto& line) { return line.kernel == sorted[0].kernel; });
  Counters rest;
  const size_t num_shown = std::min(sorted.size(), size_t(std::max(most, 0)));
  for (size_t i = 0; i < num_shown; ++i) {
    const LineCounters& line = sorted[i];
    const std::string at = generated ? fmt::format("{} ({})", line.line, name_of(line.loc)) : name_of(line.loc);
    out += row(one_kernel ? at : line.kernel + " " + at, line.counters);
    if (generated) out += fmt::format("    {}\n", line.text);
  }
  for (size_t i = num_shown; i < sorted.size(); ++i) rest += sorted[i].counters;
  if (num_shown < sorted.size()) out += row(fmt::format("{} other lines", sorted.size() - num_shown), rest);
  const Counters all = total();
  return out + row("total", all) + in_flight(all);
}

}  // namespace tilewright
