#include "support/error.h"

#include <fstream>

namespace tilewright {

Loc Loc::here(const char* file, int line) { return at(file, line); }

Loc Loc::at(std::string file, int line, int column) {
  return {.file = std::make_shared<const std::string>(std::move(file)), .line = line, .column = column};
}

std::string Loc::to_string() const {
  if (!known()) return "<unknown>";
  return column > 0 ? fmt::format("{}:{}:{}", *file, line, column) : fmt::format("{}:{}", *file, line);
}

bool operator==(const Loc& a, const Loc& b) { return a.line == b.line && a.column == b.column && a.path() == b.path(); }

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_kernel: return "invalid kernel";
    case ErrorKind::invalid_argument: return "invalid argument";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::toolchain: return "toolchain";
    case ErrorKind::internal: return "internal";
  }
  return "?";
}

namespace {

// The text of one source line, or empty when the file is not readable here (a shipped binary, a parsed string).
std::string source_line(const Loc& loc) {
  if (!loc.known()) return {};
  std::ifstream in(*loc.file);
  std::string line;
  for (int i = 0; i < loc.line; ++i) {
    if (!std::getline(in, line)) return {};
  }
  return line;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  const size_t last = text.find_last_not_of(" \t\r");
  return text.substr(first, last - first + 1);
}

void append_position(std::string& out, const Loc& loc) {
  if (!loc.known()) return;
  const std::string line = source_line(loc);
  const std::string position = fmt::format("  --> {}   ", loc.to_string());
  out += position + trimmed(line) + "\n";
  const size_t indent = line.find_first_not_of(" \t");
  if (loc.column > 0 && indent != std::string::npos && size_t(loc.column) > indent) {
    out += std::string(position.size() + size_t(loc.column) - 1 - indent, ' ') + "^\n";
  }
}

std::string_view label(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::internal: return "internal error";
    default: return "error";
  }
}

}  // namespace

Error::Error(ErrorKind kind, std::string message, Loc loc)
    : kind_(kind), message_(std::move(message)), loc_(std::move(loc)) {}

Error&& Error::note(std::string text, Loc loc) && {
  notes_.push_back({.text = std::move(text), .loc = std::move(loc)});
  rendered_.clear();
  return std::move(*this);
}

Error&& Error::hint(std::string text) && {
  hint_ = std::move(text);
  rendered_.clear();
  return std::move(*this);
}

Error Error::with_loc(const Loc& loc) const {
  Error copy = *this;
  if (!copy.loc_.known()) copy.loc_ = loc;
  copy.rendered_.clear();
  return copy;
}

const char* Error::what() const noexcept {
  if (rendered_.empty()) {
    std::string out = fmt::format("{}: {}\n", label(kind_), message_);
    append_position(out, loc_);
    for (const Note& note : notes_) {
      out += "  note: " + note.text;
      if (note.loc.known()) out += "  declared at " + note.loc.to_string();
      out += "\n";
    }
    if (!hint_.empty()) out += "  hint: " + hint_ + "\n";
    out.pop_back();
    rendered_ = std::move(out);
  }
  return rendered_.c_str();
}

}  // namespace tilewright
