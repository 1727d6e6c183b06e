// Tokens of the text form of programs (ir/print.h), and the rules for names that printing and parsing share.
#pragma once

#include <tilewright/error.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

enum class TokenKind : uint8_t {
  end,
  name,     // letters, digits and _
  string,   // "..." with escapes
  integer,  // decimal digits
  real,     // digits with a point or an exponent
  symbol,   // punctuation, longest match
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // as written, quotes included
  int line = 0;
  int column = 0;
};

// The tokens of `text`, with an `end` token last. Blanks and comments (# to the end of the line) separate tokens.
// Throws Error{invalid_kernel} for a character that starts no token and for an unterminated string.
std::vector<Token> tokenize(std::string_view text, const std::shared_ptr<const std::string>& file);

// The bytes that a string token stands for; throws Error{invalid_kernel} at `loc` for an unknown escape.
std::string unquote(std::string_view token, const Loc& loc);
// `text` as a string token of printable ASCII.
std::string quote(std::string_view text);

bool is_identifier(std::string_view name);
// A word with a meaning in the text form. A name that is one, or no identifier, is written as a string.
bool is_reserved_word(std::string_view name);
std::string name_text(std::string_view name);

}  // namespace tilewright::ir
