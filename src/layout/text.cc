// The text form of layouts.
#include "layout/layout.h"

#include "support/error.h"

#include <cctype>

namespace tilewright::layout {

namespace {

std::string part(const Layout& layout, int64_t Mode::*field) {
  std::string out = "(";
  for (int d = 0; d < layout.rank(); ++d) {
    const Dim& dim = layout.dims()[size_t(d)];
    if (d > 0) out += ",";
    if (dim.size() == 1) {
      out += fmt::format("{}", dim[0].*field);
      continue;
    }
    out += "(";
    for (size_t k = 0; k < dim.size(); ++k) out += fmt::format("{}{}", k ? "," : "", dim[k].*field);
    out += ")";
  }
  return out + ")";
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Layout parse() {
    std::vector<std::vector<int64_t>> extents = dims();
    expect(':');
    const std::vector<std::vector<int64_t>> strides = dims();
    Swizzle swizzle;
    if (peek() == '^') swizzle = parse_swizzle();
    if (at_ != text_.size()) fail("the end");
    if (extents.size() != strides.size()) fail("as many strides as extents");
    std::vector<Dim> out;
    for (size_t d = 0; d < extents.size(); ++d) {
      if (extents[d].size() != strides[d].size()) fail("as many strides as extents");
      Dim dim;
      for (size_t k = 0; k < extents[d].size(); ++k) dim.push_back({.extent = extents[d][k], .stride = strides[d][k]});
      out.push_back(std::move(dim));
    }
    return Layout(std::move(out), swizzle);
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[noreturn]] void fail(const char* expected) const {
    throw invalid_kernel({}, "layout '{}': {} is expected at column {}", text_, expected, at_ + 1)
        .hint("a layout is written like (4,(2,4)):(2,(1,8))");
  }
  void expect(char c) {
    if (peek() != c) fail(std::string(1, c).c_str());
    ++at_;
  }
  int64_t number() {
    if (std::isdigit(static_cast<unsigned char>(peek())) == 0) fail("a number");
    int64_t value = 0;
    while (std::isdigit(static_cast<unsigned char>(peek())) != 0) {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, peek() - '0', &value)) {
        fail("a number below 2^63");
      }
      ++at_;
    }
    return value;
  }
  // Numbers between parentheses; `()` is an empty list.
  std::vector<int64_t> list() {
    std::vector<int64_t> out;
    expect('(');
    while (peek() != ')') {
      if (!out.empty()) expect(',');
      out.push_back(number());
    }
    expect(')');
    return out;
  }
  std::vector<std::vector<int64_t>> dims() {
    if (peek() != '(') return {{number()}};
    std::vector<std::vector<int64_t>> out;
    expect('(');
    while (peek() != ')') {
      if (!out.empty()) expect(',');
      out.push_back(peek() == '(' ? list() : std::vector<int64_t>{number()});
    }
    expect(')');
    return out;
  }
  Swizzle parse_swizzle() {
    expect('^');
    const std::vector<int64_t> values = list();
    if (values.size() != 3 || values[0] > 30 || values[1] > 30 || values[2] > 30) fail("^(bits,base,shift)");
    return {.bits = int(values[0]), .base = int(values[1]), .shift = int(values[2])};
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string to_string(const Layout& layout) {
  std::string out = part(layout, &Mode::extent) + ":" + part(layout, &Mode::stride);
  const Swizzle& s = layout.swizzle();
  if (s != Swizzle()) out += fmt::format("^({},{},{})", s.bits, s.base, s.shift);
  return out;
}

Layout parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace tilewright::layout
