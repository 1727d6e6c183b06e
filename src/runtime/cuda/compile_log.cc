#include "runtime/cuda/compile_log.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

namespace tilewright::cuda {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The text between the first `before` and the next `after`; empty when either is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + before.size());
  const size_t end = text.find(after);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

// The number that stands in front of ` unit`: "536 bytes stack frame" holds 536 of "bytes stack frame".
int number_of(std::string_view text, std::string_view unit) {
  const size_t at = text.find(unit);
  if (at == std::string_view::npos || at < 2) return 0;
  size_t begin = at - 1;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  int out = 0;
  std::from_chars(text.data() + begin, text.data() + at - 1, out);
  return out;
}

// Whether the line carries a code such as (C7510).
bool has_code(std::string_view line) {
  for (size_t at = line.find("(C7"); at != std::string_view::npos; at = line.find("(C7", at + 1)) {
    const size_t end = line.find_first_not_of("0123456789", at + 2);
    if (end != std::string_view::npos && line[end] == ')' && end >= at + 5) return true;
  }
  return false;
}

// By its words, as the codes differ between versions; a code alone still counts.
std::optional<Advisory> advisory_in(const std::string& line) {
  using Kind = Advisory::Kind;
  if (contains(line, "setmaxnreg") && contains(line, "ignored")) return Advisory{Kind::setmaxnreg_ignored, line};
  if (contains(line, "serialized")) return Advisory{Kind::wgmma_serialized, line};
  if (contains(line, "is injected")) return Advisory{Kind::sync_injected, line};
  if (has_code(line) || contains(line, "Potential Performance Loss")) return Advisory{Kind::other, line};
  return std::nullopt;
}

FunctionResources& function_named(CompileLog& log, std::string_view name) {
  for (FunctionResources& function : log.functions) {
    if (function.name == name) return function;
  }
  log.functions.push_back({.name = std::string(name)});
  return log.functions.back();
}

}  // namespace

const FunctionResources* CompileLog::find(std::string_view name) const {
  for (const FunctionResources& function : functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

std::optional<std::string> CompileLog::why_slow() const {
  if (!advisories.empty()) return advisories.front().text;
  for (const FunctionResources& f : functions) {
    if (f.spill_store_bytes > 0 || f.spill_load_bytes > 0) {
      return fmt::format("{} spills {} bytes of registers ({} loaded back) at {} registers", f.name,
                         f.spill_store_bytes, f.spill_load_bytes, f.num_registers);
    }
  }
  return std::nullopt;
}

CompileLog parse_compile_log(std::string text) {
  CompileLog out;
  std::istringstream in(text);
  std::string properties_of, entry;  // the functions that the following lines are about
  for (std::string line; std::getline(in, line);) {
    if (auto advisory = advisory_in(line)) {
      out.advisories.push_back(std::move(*advisory));
      continue;
    }
    if (const auto name = between(line, "Compiling entry function '", "'"); !name.empty()) {
      entry = name;
    } else if (const size_t at = line.find("Function properties for "); at != std::string::npos) {
      properties_of = line.substr(at + 24);
    } else if (contains(line, "bytes stack frame")) {
      FunctionResources& function = function_named(out, properties_of);
      function.stack_bytes = number_of(line, "bytes stack frame");
      function.spill_store_bytes = number_of(line, "bytes spill stores");
      function.spill_load_bytes = number_of(line, "bytes spill loads");
    } else if (contains(line, ": Used ")) {
      FunctionResources& function = function_named(out, entry);
      function.num_registers = number_of(line, "registers");
      function.num_barriers = number_of(line, "barriers");
      function.static_shared_bytes = number_of(line, "bytes smem");
    }
  }
  out.text = std::move(text);
  return out;
}

}  // namespace tilewright::cuda
