#include "mutation/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <utility>

namespace tilewright::mutation {

namespace {

struct Span {
  size_t begin = 0, end = 0;
};

// A call of the device library.
struct Call {
  std::string name, parameters;  // what stands between < and >
  size_t begin = 0, end = 0;     // from "tw::" to behind the closing parenthesis
  std::vector<Span> arguments = {};
};

// The closing parenthesis of the one that opens at `open`.
size_t closing(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (depth == 0) return i;
  }
  return text.size();
}

// The parts of [begin, end) between separators that stand in no parentheses.
std::vector<Span> split(const std::string& text, Span whole, const std::vector<std::string>& separators) {
  std::vector<Span> out;
  int depth = 0;
  size_t begin = whole.begin;
  for (size_t i = whole.begin; i < whole.end; ++i) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (depth > 0) continue;
    for (const std::string& separator : separators) {
      if (text.compare(i, separator.size(), separator) != 0) continue;
      out.push_back({begin, i});
      begin = i + separator.size();
      i = begin - 1;
      break;
    }
  }
  out.push_back({begin, whole.end});
  return out;
}

// Where the condition of a choice begins whose " ? " stands at `at`.
size_t beginning_of_condition(const std::string& text, size_t at) {
  int depth = 0;
  for (size_t begin = at; begin > 0; --begin) {
    depth += text[begin - 1] == ')';
    if (text[begin - 1] == '(' && depth-- == 0) return begin;
    if (depth > 0) continue;
    for (const std::string_view before : {"= ", ", ", " ? ", " : ", "return "}) {
      if (begin >= before.size() && text.compare(begin - before.size(), before.size(), before) == 0 &&
          (before != "= " || text.compare(begin - 3, 1, " ") == 0))
        return begin;
    }
  }
  return 0;
}

std::string text_of(const std::string& text, Span at) { return text.substr(at.begin, at.end - at.begin); }

class Finder {
 public:
  explicit Finder(const std::string& text) : text_(text) {}
  std::vector<Mutant> all();

 private:
  void call(const Call& call);
  void sync(const Call& call);
  void mbarrier(const Call& call);
  void copy(const Call& call);
  void condition(size_t open);
  void range_checks();
  void selections();
  void loops();
  void phase(Span parity);
  void scope(Kind kind, const std::string& name, const Call& call);
  void weaker_bound(Span comparison, const std::string& place);

  void add(Kind kind, std::string change, Span place, std::vector<Edit> edits) {
    const int line = 1 + int(std::count(text_.begin(), text_.begin() + std::ptrdiff_t(place.begin), '\n'));
    out_.push_back({.kind = kind,
                    .change = std::move(change),
                    .place = text_of(text_, place),
                    .line = line,
                    .edits = std::move(edits)});
  }
  void remove(Kind kind, const Call& call) {
    add(kind, "removed", {call.begin, call.end}, {{call.begin, call.end, ""}});
  }
  bool taken(size_t at) const {
    return std::any_of(taken_.begin(), taken_.end(), [&](Span s) { return s.begin <= at && at < s.end; });
  }

  const std::string& text_;
  std::vector<Mutant> out_;
  std::vector<Span> taken_;  // whose comparisons are guards already
};

std::vector<Mutant> Finder::all() {
  static const std::regex kCall(R"(tw::([a-z_0-9]+)(<([^<>()]*)>)?\()");
  for (std::sregex_iterator i(text_.begin(), text_.end(), kCall), end; i != end; ++i) {
    Call found{.name = (*i)[1], .parameters = (*i)[3], .begin = size_t(i->position())};
    const size_t open = found.begin + size_t(i->length()) - 1, close = closing(text_, open);
    found.end = close + 1;
    if (close > open + 1) found.arguments = split(text_, {open + 1, close}, {", "});
    call(found);
  }
  for (size_t at = text_.find("if ("); at != std::string::npos; at = text_.find("if (", at + 1)) {
    // The branches of roles: what is not one is the other.
    const bool otherwise = at >= 5 && text_.compare(at - 5, 5, "else ") == 0;
    if (!otherwise) condition(at + 3);
  }
  range_checks();
  selections();
  loops();
  std::stable_sort(out_.begin(), out_.end(),
                   [](const Mutant& a, const Mutant& b) { return a.edits.front().begin < b.edits.front().begin; });
  return std::move(out_);
}

void Finder::call(const Call& call) {
  sync(call);
  mbarrier(call);
  if (call.name == "copy_async_zero_fill") copy(call);
}

void Finder::sync(const Call& call) {
  static const std::array<std::pair<const char*, Kind>, 20> kRemoved = {{
      {"sync_block", Kind::barrier},
      {"sync_threads", Kind::barrier},
      {"arrive_threads", Kind::barrier},
      {"sync_warp", Kind::barrier},
      {"sync_cluster", Kind::barrier},
      {"cluster_arrive", Kind::barrier},
      {"cluster_arrive_relaxed", Kind::barrier},
      {"cluster_wait", Kind::barrier},
      {"fence_cluster", Kind::fence},
      {"fence_block", Kind::fence},
      {"fence_gpu", Kind::fence},
      {"fence_mbarrier_init", Kind::fence},
      {"fence_async_shared", Kind::fence},
      {"fence_async_global", Kind::fence},
      {"wgmma_fence", Kind::fence},
      {"copy_async_commit", Kind::commit},
      {"wgmma_commit", Kind::commit},
      {"bulk_commit", Kind::commit},
      {"mbarrier_init", Kind::arrival},
      {"mbarrier_arrive_after_copies", Kind::arrival},
  }};
  for (const auto& [name, kind] : kRemoved) {
    if (call.name == name) remove(kind, call);
  }
  // Barriers of the cluster that order no memory.
  const std::string relaxed = "tw::cluster_arrive_relaxed()";
  if (call.name == "sync_cluster" || call.name == "cluster_arrive") {
    const std::string with = call.name == "cluster_arrive" ? relaxed : "(" + relaxed + ", tw::cluster_wait())";
    add(Kind::barrier, "relaxed", {call.begin, call.end}, {{call.begin, call.end, with}});
  }
  static const std::array kWaits = {"copy_async_wait", "wgmma_wait", "bulk_wait", "bulk_wait_read"};
  if (std::find(kWaits.begin(), kWaits.end(), call.name) == kWaits.end()) return;
  remove(Kind::wait, call);
  const int pending = std::stoi(call.parameters);
  add(Kind::wait, fmt::format("{} groups may be under way, not {}", pending + 1, pending), {call.begin, call.end},
      {{call.begin, call.end, fmt::format("tw::{}<{}>()", call.name, pending + 1)}});
}

void Finder::mbarrier(const Call& call) {
  const auto argument = [&](size_t i) { return text_of(text_, call.arguments.at(i)); };
  const auto replace = [&](Kind kind, size_t i, const std::string& with) {
    add(kind, with, {call.begin, call.end}, {{call.arguments[i].begin, call.arguments[i].end, with}});
  };
  if (call.name == "mbarrier_init") {
    replace(Kind::arrival, 1, argument(1) + " + 1");
    replace(Kind::arrival, 1, argument(1) + " - 1");
  } else if (call.name == "mbarrier_arrive") {
    remove(Kind::arrival, call);
  } else if (call.name == "mbarrier_arrive_expect") {
    add(Kind::bytes, "none", {call.begin, call.end},
        {{call.begin, call.end, fmt::format("tw::mbarrier_arrive({})", argument(0))}});
    replace(Kind::bytes, 1, argument(1) + " + 16");
    replace(Kind::bytes, 1, argument(1) + " - 16");
    add(Kind::arrival, "bytes alone", {call.begin, call.end},
        {{call.begin, call.end, fmt::format("tw::mbarrier_expect({}, {})", argument(0), argument(1))}});
  } else if (call.name == "mbarrier_expect") {
    remove(Kind::bytes, call);
    replace(Kind::bytes, 1, argument(1) + " + 16");
    replace(Kind::bytes, 1, argument(1) + " - 16");
  } else if (call.name == "mbarrier_wait" || call.name == "mbarrier_wait_cluster") {
    remove(Kind::wait, call);
    phase(call.arguments.at(1));
    if (call.name == "mbarrier_wait_cluster") scope(Kind::wait, "mbarrier_wait", call);
  } else if (call.name == "mbarrier_arrive_cluster") {
    remove(Kind::arrival, call);
  } else if (call.name == "mbarrier_release_cluster") {
    remove(Kind::arrival, call);
    scope(Kind::arrival, "mbarrier_arrive_cluster", call);
  } else if (call.name.starts_with("tma_load_multicast_")) {
    replace(Kind::guard, 3, "tw::u16(1)");
  }
}

// Of the block alone.
void Finder::scope(Kind kind, const std::string& name, const Call& call) {
  const size_t end = text_.find('(', call.begin);
  add(kind, "of the block's scope", {call.begin, call.end}, {{call.begin, end, "tw::" + name}});
}

// tw::u32(e) or tw::u32(1 - e): never flipped, and the other way round.
void Finder::phase(Span parity) {
  const std::string whole = text_of(text_, parity);
  const bool begins_with_one = whole.find("(1 - ") != std::string::npos;
  add(Kind::phase, "never flipped", parity,
      {{parity.begin, parity.end, begins_with_one ? "tw::u32(1)" : "tw::u32(0)"}});
  add(Kind::phase, "the other parity", parity, {{parity.begin, parity.end, fmt::format("1 - {}", whole)}});
}

// The predicate of a copy stands in its address, too, which is of no use where nothing is read: both are changed.
void Finder::copy(const Call& call) {
  taken_.push_back({call.begin, call.end});
  const std::string whole = text_of(text_, {call.begin, call.end});
  const std::string bytes = call.parameters, size = text_of(text_, call.arguments.at(2));
  std::vector<std::pair<std::string, std::string>> guards;
  // "A < N ? x : 0" behind an opening parenthesis.
  for (size_t at = size.find(" ? "); at != std::string::npos; at = size.find(" ? ", at + 1)) {
    for (const Span part : split(size, {beginning_of_condition(size, at), at}, {" && ", " & "}))
      guards.emplace_back(text_of(size, part), "true");
  }
  const std::string clamp = "tw::maximum<tw::i32>(";
  for (size_t at = size.find(clamp); at != std::string::npos; at = size.find(clamp, at + 1)) {
    const size_t end = closing(size, at + clamp.size() - 1) + 1;
    guards.emplace_back(size.substr(at, end - at), bytes);
  }
  for (const auto& [guard, with] : guards) {
    std::vector<Edit> edits;
    for (size_t at = whole.find(guard); at != std::string::npos; at = whole.find(guard, at + guard.size())) {
      edits.push_back({call.begin + at, call.begin + at + guard.size(), with});
    }
    const size_t place = text_.find(guard, call.arguments[2].begin);
    add(Kind::guard, "of a copy, removed", {place, place + guard.size()}, std::move(edits));
  }
}

void Finder::weaker_bound(Span comparison, const std::string& place) {
  const auto sides = split(text_, comparison, {" < "});
  if (sides.size() != 2) return;
  add(Kind::guard, "one more: " + place, comparison, {{sides[0].end, sides[1].begin, " <= "}});
}

// The condition of a branch, at its opening parenthesis.
void Finder::condition(size_t open) {
  const size_t close = closing(text_, open);
  taken_.push_back({open, close});
  // What is taken for granted in the first of two branches bounds the last of many accesses: a bound that is one larger
  // may let nothing more in.
  const size_t block = text_.compare(close, 3, ") {") == 0 ? close : std::string::npos;
  bool has_else = false;
  if (block != std::string::npos) {
    int depth = 0;
    for (size_t i = block; i < text_.size(); ++i) {
      depth += text_[i] == '{';
      depth -= text_[i] == '}';
      if (text_[i] != '}' || depth > 0) continue;
      has_else = text_.compare(i, 6, "} else") == 0;
      break;
    }
  }
  for (const Span part : split(text_, {open + 1, close}, {" && ", " & "})) {
    add(Kind::guard, "removed", part, {{part.begin, part.end, "true"}});
    if (!has_else) weaker_bound(part, "of a branch");
  }
}

// tw::u64(index) < tw::u64(extent) in an expression.
void Finder::range_checks() {
  for (size_t at = text_.find("tw::u64("); at != std::string::npos; at = text_.find("tw::u64(", at + 1)) {
    if (taken(at)) continue;
    const size_t middle = closing(text_, at + 7) + 1;
    if (text_.compare(middle, 11, " < tw::u64(") != 0) continue;
    const Span comparison{at, closing(text_, middle + 10) + 1};
    taken_.push_back(comparison);
    add(Kind::guard, "removed", comparison, {{comparison.begin, comparison.end, "true"}});
    weaker_bound(comparison, "of an element");
    at = comparison.end - 1;
  }
}

// "condition ? a : b" of comparisons that are nothing of the above.
void Finder::selections() {
  for (size_t at = text_.find(" ? "); at != std::string::npos; at = text_.find(" ? ", at + 1)) {
    if (taken(at)) continue;
    const size_t begin = beginning_of_condition(text_, at);
    for (const Span part : split(text_, {begin, at}, {" && ", " & "})) {
      if (!taken(part.begin)) add(Kind::guard, "of a choice, removed", part, {{part.begin, part.end, "true"}});
    }
  }
}

// Iterations that are dealt out to threads and are no multiple of their number: tw::quotient(n - tid, threads).
void Finder::loops() {
  static const std::regex kDealtOut(R"(tw::quotient\((\d+) - tid_\d+, \d+\))");
  for (std::sregex_iterator i(text_.begin(), text_.end(), kDealtOut), end; i != end; ++i) {
    const size_t begin = size_t(i->position(1)), length = size_t(i->length(1));
    add(Kind::guard, "one more: of a loop", {size_t(i->position()), size_t(i->position() + i->length())},
        {{begin, begin + length, fmt::format("{}", std::stoll((*i)[1]) + 1)}});
  }
}

}  // namespace

std::string_view name_of(Kind kind) {
  static constexpr std::array<std::string_view, kNumKinds> kNames = {"barrier", "fence",   "wait",  "commit",
                                                                     "bytes",   "arrival", "phase", "guard"};
  return kNames.at(size_t(kind));
}

std::string Mutant::applied_to(std::string text) const {
  for (size_t i = edits.size(); i-- > 0;) text.replace(edits[i].begin, edits[i].end - edits[i].begin, edits[i].with);
  return text;
}

std::vector<Mutant> mutants_of(const std::string& text) { return Finder(text).all(); }

}  // namespace tilewright::mutation
