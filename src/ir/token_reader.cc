#include "ir/parser.h"
#include "support/error.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace tilewright::ir {

namespace {

std::string shown(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  return fmt::format("'{}'", token.text.substr(0, 40));
}

}  // namespace

TokenReader::TokenReader(std::string_view text, std::string file_name)
    : file_(std::make_shared<const std::string>(std::move(file_name))), tokens_(tokenize(text, file_)) {}

const Token& TokenReader::peek(size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

const Token& TokenReader::take() {
  const Token& token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenReader::at(std::string_view symbol_or_word, size_t ahead) const {
  const Token& token = peek(ahead);
  return (token.kind == TokenKind::symbol || token.kind == TokenKind::name) && token.text == symbol_or_word;
}

bool TokenReader::accept(std::string_view symbol_or_word) {
  if (!at(symbol_or_word)) return false;
  take();
  return true;
}

const Token& TokenReader::expect(std::string_view symbol_or_word) {
  if (!at(symbol_or_word)) fail_expected(fmt::format("'{}'", symbol_or_word));
  return take();
}

bool TokenReader::at_name(size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::string || (token.kind == TokenKind::name && !is_reserved_word(token.text));
}

std::string TokenReader::name(std::string_view what) {
  if (!at_name()) fail_expected(what);
  const Token& token = take();
  return token.kind == TokenKind::string ? unquote(token.text, loc_of(token)) : std::string(token.text);
}

int64_t TokenReader::integer(int64_t low, int64_t high) {
  const Loc loc = here();
  const std::string sign = accept("-") ? "-" : "";
  if (peek().kind != TokenKind::integer) fail_expected("an integer");
  const std::string digits = sign + std::string(take().text);
  int64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc() || value < low || value > high) {
    fail(loc, fmt::format("{} is not between {} and {}", digits, low, high));
  }
  return value;
}

double TokenReader::real() {
  const double sign = accept("-") ? -1 : 1;
  if (accept("inf")) return sign * std::numeric_limits<double>::infinity();
  if (accept("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (peek().kind != TokenKind::real) fail_expected("a number with a point or an exponent");
  const Token& token = take();
  double value = 0;
  const auto result = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (result.ec != std::errc()) fail(loc_of(token), fmt::format("{} is outside the range of f64", shown(token)));
  return sign * value;
}

void TokenReader::fail_expected(std::string_view what) const {
  fail(here(), fmt::format("expected {}, found {}", what, shown(peek())));
}

void TokenReader::fail(const Loc& loc, std::string message) const {
  throw Error(ErrorKind::invalid_kernel, std::move(message), loc).hint(std::string(form_));
}

}  // namespace tilewright::ir
