#include "ir/loop_options.h"

#include "support/error.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace tilewright::ir {

namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

template <class T>
const T* attr_of(const ForStmt& loop, std::string_view name, const char* form, const Loc& loc) {
  const AttrValue* value = find_attr(loop.attrs, name);
  if (value == nullptr) return nullptr;
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) throw invalid_kernel(loc, "{} is not {}", name, form).hint("see the options of the loop");
  return typed;
}

void check_unrolled(const ForStmt& loop, const Loc& loc) {
  const bool* is_explicit = attr_of<bool>(loop, "explicit", "true or false", loc);
  const int64_t* factor = attr_of<int64_t>(loop, "factor", "an integer", loc);
  if (factor && *factor < 1) {
    throw invalid_kernel(loc, "the unroll factor is {}, but must be at least 1", *factor)
        .hint("1 does not unroll; leave the factor out to let the compiler choose");
  }
  if (factor && is_explicit && *is_explicit) {
    throw invalid_kernel(loc, "an explicit unroll has the factor {}", *factor)
        .hint("explicit expands all iterations; give one of the two");
  }
}

void check_num_stages(const ForStmt& loop, const Loc& loc) {
  const int64_t* stages = attr_of<int64_t>(loop, "num_stages", "an integer", loc);
  if (stages == nullptr || *stages >= 0) return;
  throw invalid_kernel(loc, "num_stages is {}, but must be 0 or more", *stages).hint("0 and 1 do not overlap");
}

std::optional<std::vector<int64_t>> schedule(const ForStmt& loop, std::string_view name, const Loc& loc) {
  const auto* text = attr_of<std::string>(loop, name, "a list of integers", loc);
  if (text == nullptr) return std::nullopt;
  std::optional<std::vector<int64_t>> list = list_from_text(*text);
  if (!list) {
    throw invalid_kernel(loc, "{} is \"{}\", which is no list of integers", name, *text).hint("for instance \"0, 1\"");
  }
  return list;
}

void check_permutation(const std::vector<int64_t>& order, const Loc& loc) {
  std::vector<bool> seen(order.size(), false);
  for (int64_t position : order) {
    const bool inside = position >= 0 && size_t(position) < order.size();
    if (inside && !seen[size_t(position)]) {
      seen[size_t(position)] = true;
      continue;
    }
    throw invalid_kernel(loc, "order has {} {}, but is a permutation of 0 to {}", position,
                         inside ? "twice" : "as a position", order.size() - 1)
        .hint("give each statement of the body a position of its own");
  }
}

void check_groups(const ForStmt& loop, std::string_view name, int64_t num_statements, const Loc& loc) {
  const auto* text = attr_of<std::string>(loop, name, "lists of integers", loc);
  if (text == nullptr) return;
  const auto groups = groups_from_text(*text);
  if (!groups) {
    throw invalid_kernel(loc, "{} is \"{}\", which is no lists of integers", name, *text)
        .hint("for instance \"0, 1; 2\"");
  }
  std::set<int64_t> seen;
  for (const std::vector<int64_t>& group : *groups) {
    for (int64_t statement : group) {
      const bool outside = statement < 0 || (num_statements >= 0 && statement >= num_statements);
      if (!outside && seen.insert(statement).second) continue;
      throw invalid_kernel(loc, "{} names statement {}{}", name, statement,
                           outside ? ", which is no statement of the body" : " twice")
          .hint("statements are numbered from 0 in the order of the text, each in at most one list");
    }
  }
}

void check_pipelined(const ForStmt& loop, const Loc& loc) {
  check_num_stages(loop, loc);
  const auto order = schedule(loop, "order", loc), stage = schedule(loop, "stage", loc);
  if (order.has_value() != stage.has_value()) {
    throw invalid_kernel(loc, "{} is given without {}", order ? "order" : "stage", order ? "stage" : "order")
        .hint("a schedule by hand has both: a position and a stage for each statement");
  }
  if (order && order->size() != stage->size()) {
    throw invalid_kernel(loc, "order has {} entries but stage has {}", order->size(), stage->size())
        .hint("each has one entry for each statement of the body");
  }
  if (order) check_permutation(*order, loc);
  for (int64_t s : stage.value_or(std::vector<int64_t>())) {
    if (s < 0) throw invalid_kernel(loc, "stage has {}, but stages are 0 or more", s).hint("0 runs first");
  }
  const int64_t num_statements = order ? int64_t(order->size()) : -1;
  check_groups(loop, "sync", num_statements, loc);
  check_groups(loop, "group", num_statements, loc);
}

void check_parallel(const ForStmt& loop, const Loc& loc) {
  const int64_t* width = attr_of<int64_t>(loop, "coalesced_width", "an integer", loc);
  if (width == nullptr) return;
  if (*width < 1) {
    throw invalid_kernel(loc, "coalesced_width is {}, but must be at least 1", *width).hint("1 takes single elements");
  }
  const std::optional<int64_t> extent = loop.dims.back().extent.as_int();
  if (!extent || *extent < 0 || *extent % *width == 0) return;
  int64_t nearest = std::min(*width, *extent);
  while (*extent % nearest != 0) --nearest;
  throw invalid_kernel(loc, "coalesced_width is {}, but the innermost extent {} is no multiple of it", *width, *extent)
      .hint(fmt::format("the nearest is {}", nearest));
}

}  // namespace

std::string list_text(std::span<const int64_t> numbers) { return fmt::format("{}", fmt::join(numbers, ", ")); }

std::optional<std::vector<int64_t>> list_from_text(std::string_view text) {
  std::vector<int64_t> out;
  if (trimmed(text).empty()) return out;
  for (std::string_view part : split(text, ',')) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
    out.push_back(number);
  }
  return out;
}

std::string groups_text(std::span<const std::vector<int64_t>> groups) {
  std::string out;
  for (size_t i = 0; i < groups.size(); ++i) out += (i > 0 ? "; " : "") + list_text(groups[i]);
  return out;
}

std::optional<std::vector<std::vector<int64_t>>> groups_from_text(std::string_view text) {
  std::vector<std::vector<int64_t>> out;
  if (trimmed(text).empty()) return out;
  for (std::string_view part : split(text, ';')) {
    std::optional<std::vector<int64_t>> group = list_from_text(part);
    if (!group) return std::nullopt;
    out.push_back(std::move(*group));
  }
  return out;
}

void check_step(int64_t step, const Loc& loc) {
  if (step == 0) throw invalid_kernel(loc, "a loop with step 0").hint("give a positive or negative step");
  if (step >= -kMaxStep && step <= kMaxStep) return;
  throw invalid_kernel(loc, "a loop with step {}, but steps are at most {} in magnitude", step, kMaxStep)
      .hint("multiply inside the loop");
}

void check_loop_options(const ForStmt& loop, const Loc& loc) {
  if (loop.kind == LoopKind::unrolled) check_unrolled(loop, loc);
  if (loop.kind == LoopKind::pipelined) check_pipelined(loop, loc);
  if (loop.kind == LoopKind::parallel) check_parallel(loop, loc);
}

}  // namespace tilewright::ir
