// The recursive descent behind ir/parse.h.
#pragma once

#include "ir/lexer.h"
#include "ir/op.h"
#include "ir/var_names.h"

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

// Reads tokens: lookahead, expectations, errors.
class TokenReader {
 public:
  TokenReader(std::string_view text, std::string file_name);

 protected:
  const Token& peek(size_t ahead = 0) const;
  const Token& take();
  bool at(std::string_view symbol_or_word, size_t ahead = 0) const;
  bool accept(std::string_view symbol_or_word);
  const Token& expect(std::string_view symbol_or_word);
  bool at_name(size_t ahead = 0) const;
  std::string name(std::string_view what);
  // An optional minus sign and digits, within [low, high].
  int64_t integer(int64_t low, int64_t high);
  double real();
  Loc loc_of(const Token& token) const { return {.file = file_, .line = token.line, .column = token.column}; }
  Loc here() const { return loc_of(peek()); }
  // "expected ..., found ..." at the next token, with the form of the current construct as the hint.
  [[noreturn]] void fail_expected(std::string_view what) const;
  [[noreturn]] void fail(const Loc& loc, std::string message) const;

  // How the construct being read is written; the hint of every error.
  std::string_view form_;

 private:
  std::shared_ptr<const std::string> file_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

class ExprParser : public TokenReader {
 public:
  using TokenReader::TokenReader;

 protected:
  // A tree and a bound on its height.
  struct Value {
    Expr e;
    int height = 0;
  };
  // Counts nesting while it lives.
  class Nested {
   public:
    explicit Nested(ExprParser& parser);
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    ExprParser& parser_;
  };

  Expr expr() { return infix(1).e; }
  Expr bound() { return infix(4).e; }
  // Expressions up to `close`, which is taken.
  std::vector<Expr> exprs(std::string_view close);
  Expr definition(std::string_view what);
  TileId tile_row();
  TileRef tile_ref();
  RegionDim range(bool allow_single);
  DType dtype();
  void require_dtype(const Expr& e, DType dtype, const Loc& loc, std::string_view what) const;

  const Kernel* kernel_ = nullptr;
  VarNames names_;

 private:
  Value infix(int min_level);
  Value unary();
  Value primary();
  Value parenthesised();
  std::optional<Value> literal();
  Value typed_literal(DType type, bool negative, const Loc& loc);
  Value variable();
  Value load();
  Value function(const Loc& loc);
  Value build(std::string_view word, std::vector<Value> args, const Loc& loc);
  Value combine(ExprKind kind, Value a, Value b, const Loc& loc);
  Value grown(Expr e, int height, const Loc& loc) const;
  std::vector<Value> values(std::string_view close);

  int depth_ = 0;
};

class Parser : public ExprParser {
 public:
  Parser(std::string_view text, std::string file_name, std::span<const OpDef* const> ops)
      : ExprParser(text, std::move(file_name)), ops_(ops) {}

  Program program();

 private:
  struct ParamText {
    std::string name;
    std::optional<Param> row;
    Loc loc;
  };
  std::vector<ParamText> param_texts();
  Param resolve(const ParamText& text) const;
  void scalar();
  void tensor();
  void kernel();
  void grid(Kernel& kernel);
  Tile tile();
  void set_tile_attr(Tile& tile, const std::string& name, const AttrValue& value, const Loc& loc) const;
  int tensor_row();
  TensorMap map();
  Role role();
  Channel channel();
  std::shared_ptr<const Schedule> schedule();
  Space space();
  Attrs attrs();
  AttrValue attr_value();
  Block block();
  // The statements up to the brace that closes the block, and this brace.
  Block rest_of_block();
  int int_number() { return int(integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max())); }
  Stmt stmt();
  Stmt let_stmt();
  Stmt store_stmt();
  Stmt atomic_stmt(Expr prev, const Loc& loc);
  // The enumerator with the next word as its name.
  template <class E>
  E word_of(int count, std::string_view what) {
    for (int i = 0; i < count; ++i) {
      if (accept(to_string(E(i)))) return E(i);
    }
    fail_expected(what);
  }
  Stmt op_stmt();
  Stmt for_stmt();
  LoopKind loop_kind();
  LoopDim loop_dim(Expr var);
  Stmt while_stmt();
  Stmt if_stmt();
  Stmt lanes_stmt();
  Stmt role_stmt();
  ExecSet exec_set();

  std::span<const OpDef* const> ops_;
  Program program_;
};

}  // namespace tilewright::ir
