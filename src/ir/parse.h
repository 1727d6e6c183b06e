// Reads the text form of programs that ir/print.h writes.
//
//   program   = "program" name "(" [param {"," param}] ")" "vars" int "{" {scalar | tensor} {kernel} "}"
//   param     = name | ("tensor" | "scalar") "@" int
//   scalar    = ("scalar" | "extent") var
//   tensor    = ("tensor" | "workspace") name ":" dtype "[" exprs "]" ["strides" "[" exprs "]"]
//   kernel    = "kernel" name "(" var "<" expr {"," var "<" expr} ")" "threads" int ["(" int {"," int} ")"] "{" {tile}
//   {stmt} "}" tile      = "tile" name ":" space dtype "[" exprs "]" ["of" row] [attrs] stmt      = "let" var "=" expr
//   | row "[" exprs "]" "=" expr | "while" expr block | "break" | "continue"
//             | "if" expr block ["else" block] | "for" var {"," var} "in" kind "(" dim {"," dim} ")" [attrs] block
//             | opname "(" [ref {"," ref}] [";" exprs] ")" [attrs] ["warps" "(" int "," int ")"]
//   block     = "{" {stmt} "}"
//   dim       = range ["step" int]
//   range     = expr ":" expr | expr ":+" expr
//   ref       = row "[" [(expr | range) {"," (expr | range)}] "]" ["slot" "(" expr ")"]
//   var       = name "@" int [":" dtype]            a definition
//   row       = name ["@" int] | "@" int            of the tile or tensor table
//   expr      = infix over || && (== != < <= > >=) (+ -) (* / // %) !, (expr), literal, variable, load, function(exprs)
//   attrs     = "{" name "=" (bool | int | real | string) {"," ...} "}"
//
// A name that is no identifier or a word of this grammar is written as a string. # begins a comment.
#pragma once

#include "ir/op.h"

#include <span>
#include <string>
#include <string_view>

namespace tilewright::ir {

// Expressions and blocks may be nested this deeply, in texts and in verified programs.
inline constexpr int kMaxNesting = 1000;
// Nodes of one expression, written out: what is printed, and generated, for it.
inline constexpr int kMaxExprSize = 1 << 20;
// Variables of a text: tables have a row for each id.
inline constexpr int kMaxTextVars = 1 << 20;

// The program, with positions in the text as locs. `ops` are the operations that statements may name. Structure is
// checked as far as building the tree needs; `verify` does the rest. Throws Error{invalid_kernel} with
// file:line:column.
Program parse(std::string_view text, std::string file_name, std::span<const OpDef* const> ops);

}  // namespace tilewright::ir
