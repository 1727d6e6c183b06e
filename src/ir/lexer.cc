#include "ir/lexer.h"

#include "support/error.h"

#include <algorithm>
#include <array>

namespace tilewright::ir {

namespace {

constexpr std::array<std::string_view, 29> kReservedWords = {
    "program", "vars",  "scalar", "extent", "tensor", "workspace", "strides", "kernel", "threads", "tile",
    "of",      "let",   "for",    "in",     "step",   "while",     "if",      "else",   "break",   "continue",
    "slot",    "lanes", "warps",  "true",   "false",  "inf",       "nan",     "global", "shared"};

// Two-character symbols; every other symbol is one character.
constexpr std::array<std::string_view, 8> kLongSymbols = {"==", "!=", "<=", ">=", "&&", "||", "//", ":+"};
constexpr std::string_view kSymbols = "()[]{},:;@.=<>+-*/%!";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Lexer {
 public:
  Lexer(std::string_view text, const std::shared_ptr<const std::string>& file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do {
      tokens.push_back(next());
    } while (tokens.back().kind != TokenKind::end);
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool done() const { return at_ >= text_.size(); }
  Loc here() const { return {.file = file_, .line = line_, .column = int(at_ - line_start_) + 1}; }

  void advance() {
    if (text_[at_++] != '\n') return;
    ++line_;
    line_start_ = at_;
  }

  void skip_blanks() {
    while (!done() && (is_blank(peek()) || peek() == '#')) {
      if (peek() == '#') {
        while (!done() && peek() != '\n') advance();
      } else {
        advance();
      }
    }
  }

  Token next() {
    skip_blanks();
    Token token{.text = {}, .line = line_, .column = int(at_ - line_start_) + 1};
    const size_t begin = at_;
    token.kind = done() ? TokenKind::end : scan();
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }

  TokenKind scan() {
    if (is_letter(peek())) {
      while (is_letter(peek()) || is_digit(peek())) advance();
      return TokenKind::name;
    }
    if (is_digit(peek())) return scan_number();
    if (peek() == '"') return scan_string();
    return scan_symbol();
  }

  TokenKind scan_number() {
    while (is_digit(peek())) advance();
    TokenKind kind = TokenKind::integer;
    if (peek() == '.' && is_digit(peek(1))) {
      advance();
      while (is_digit(peek())) advance();
      kind = TokenKind::real;
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (peek() == 'e' && is_digit(peek(1 + sign))) {
      at_ += 1 + sign;
      while (is_digit(peek())) advance();
      kind = TokenKind::real;
    }
    return kind;
  }

  TokenKind scan_string() {
    const Loc begin = here();
    advance();
    while (peek() != '"') {
      if (peek() == '\\' && at_ + 1 < text_.size()) advance();
      if (done() || peek() == '\n') {
        throw invalid_kernel(begin, "this string has no end").hint("a string ends with \" in its own line");
      }
      advance();
    }
    advance();
    return TokenKind::string;
  }

  TokenKind scan_symbol() {
    const std::string_view rest = text_.substr(at_, 2);
    if (std::find(kLongSymbols.begin(), kLongSymbols.end(), rest) != kLongSymbols.end()) {
      at_ += 2;
      return TokenKind::symbol;
    }
    if (kSymbols.find(peek()) == std::string_view::npos || peek() == '\0') {
      throw invalid_kernel(here(), "the character {} starts nothing", quote(text_.substr(at_, 1)))
          .hint("names that are not identifiers are written as strings");
    }
    ++at_;
    return TokenKind::symbol;
  }

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  int line_ = 1;
};

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::vector<Token> tokenize(std::string_view text, const std::shared_ptr<const std::string>& file) {
  return Lexer(text, file).run();
}

std::string unquote(std::string_view token, const Loc& loc) {
  const std::string_view body = token.substr(1, token.size() - 2);
  std::string out;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    const char c = ++i < body.size() ? body[i] : '\0';
    const int high = c == 'x' && i + 2 < body.size() ? hex_digit(body[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(body[i + 2]) : -1;
    if (c == '"' || c == '\\') {
      out += c;
    } else if (c == 'n') {
      out += '\n';
    } else if (low >= 0) {
      out += char(16 * high + low);
      i += 2;
    } else {
      throw invalid_kernel(loc, "this string has an unknown escape")
          .hint("the escapes are \\\" \\\\ \\n and \\x with two hexadecimal digits in lower case");
    }
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < ' ' || c > '~') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool is_identifier(std::string_view name) {
  if (name.empty() || is_digit(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_reserved_word(std::string_view name) {
  return std::find(kReservedWords.begin(), kReservedWords.end(), name) != kReservedWords.end();
}

std::string name_text(std::string_view name) {
  return is_identifier(name) && !is_reserved_word(name) ? std::string(name) : quote(name);
}

}  // namespace tilewright::ir
