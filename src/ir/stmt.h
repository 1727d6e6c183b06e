// Statements: one ordered step each. Trees are immutable and shared; passes rebuild what they change.
#pragma once

#include "ir/expr.h"
#include "ir/schedule.h"
#include "ir/tile.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tilewright::ir {

struct OpDef;
struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;
using Block = std::vector<Stmt>;

// Attributes of an op as ordered (name, value) pairs: what print, parse, hash and compare see. Each op family has a
// typed struct that converts to and from this form (see ops/).
using AttrValue = std::variant<bool, int64_t, double, std::string>;
using Attrs = std::vector<std::pair<std::string, AttrValue>>;

// A tile operation. Operand and scalar counts and meanings are the op's own (ops/*.h).
struct OpStmt {
  const OpDef* def = nullptr;
  std::vector<TileRef> tiles = {};
  std::vector<Expr> scalars = {};
  Attrs attrs = {};
  ExecSet exec = {};
};

// Binds `var` to the value that `value` has here, for the rest of the enclosing block.
struct LetStmt {
  Expr var;
  Expr value;
};

// tile[indices] = value, rounded or wrapped to the tile's dtype (value has that dtype).
// Outside a global tile's shape nothing is written; outside an on-chip tile's shape is an error at run time.
struct StoreStmt {
  TileId tile = -1;
  std::vector<Expr> indices;
  Expr value;
};

// What an atomic does to an element with value x, given v: one step that no other access comes between.
enum class AtomicKind : uint8_t {
  add,
  max,
  min,  // x + v, max(x, v), min(x, v) by the arithmetic of ir/expr.h
  bit_and,
  bit_or,
  bit_xor,  // integers
  load,     // leaves x; has no v
  store,    // v, whatever x was
};
inline constexpr int kNumAtomicKinds = 8;
std::string_view to_string(AtomicKind kind);  // "add", ..., "and", "or", "xor", "load", "store"

// What other accesses of the same thread may not move across an atomic, as in the C++ memory model.
enum class MemoryOrder : uint8_t { relaxed, consume, acquire, release, acq_rel, seq_cst };
inline constexpr int kNumMemoryOrders = 6;
std::string_view to_string(MemoryOrder order);
// The binary kind that makes the new value of x and v; none for load and store.
std::optional<ExprKind> expr_kind(AtomicKind kind);
// i32, u32, i64, u64 and the floats: what processors offer.
bool is_atomic_dtype(DType t);
// A load cannot release, a store cannot acquire.
bool fits(AtomicKind kind, MemoryOrder order);

// An atomic access of tile[indices]; `value` has the tile's dtype and is evaluated before. `prev`, if there is one, is
// bound to x for the rest of the enclosing block. Outside a global tile's shape nothing is written and x is the safe
// value; outside an on-chip tile's shape is an error at run time.
// Iterations of a parallel loop, and blocks, may update one element by one kind of atomic, in any order.
struct AtomicStmt {
  AtomicKind kind = AtomicKind::add;
  TileId tile = -1;
  std::vector<Expr> indices;
  Expr value;  // empty: load
  Expr prev;   // a var; may be empty
  MemoryOrder order = MemoryOrder::relaxed;
};

enum class LoopKind : uint8_t {
  serial,
  unrolled,    // serial, with the wish to be unrolled
  vectorized,  // serial, with the wish for vector code
  pipelined,   // serial, with the wish to overlap iterations over num_stages buffers
  parallel,    // iterations are independent: any order, any interleaving
};
std::string_view to_string(LoopKind kind);

// Steps are at most this in magnitude, so that the end of a loop is a number that 64 bits hold.
inline constexpr int64_t kMaxStep = int64_t(1) << 31;

// var = begin + t * step for t in [0, extent).
struct LoopDim {
  Expr var;
  Expr begin;
  Expr extent;
  int64_t step = 1;
};

// A loop nest over `dims`, the first outermost. Only a parallel loop may have more than one dimension.
struct ForStmt {
  LoopKind kind = LoopKind::serial;
  std::vector<LoopDim> dims;
  Attrs attrs;  // ir/loop_options.h
  Block body;
  // Of a loop of one dimension. Its slots name statements of `body` by number.
  std::shared_ptr<const Schedule> schedule = nullptr;
};

struct WhileStmt {
  Expr condition;
  Block body;
};

struct IfStmt {
  Expr condition;
  Block then;
  Block otherwise;
};

// Code of one thread: each thread of `exec` runs the body, with its own value of the kernel's thread variable. Passes
// make it; nothing in it is shared out among threads any more, and it holds no synchronisation of the block.
struct LanesStmt {
  ExecSet exec;
  Block body;
};

// Code of the warps of `exec` alone, which run it while others run theirs. Passes make it.
struct RoleStmt {
  std::string name;
  ExecSet exec = {};
  int max_regs = 0;      // of a thread from here on; 0: as before
  bool elected = false;  // one thread of the (one) warp runs the body
  Block body = {};
};

struct BreakStmt {};
struct ContinueStmt {};

struct StmtNode {
  std::variant<OpStmt, LetStmt, StoreStmt, AtomicStmt, ForStmt, WhileStmt, IfStmt, LanesStmt, RoleStmt, BreakStmt,
               ContinueStmt>
      value;
  Loc loc;
};

template <class T>
Stmt make_stmt(T value, Loc loc = {}) {
  return std::make_shared<const StmtNode>(StmtNode{.value = std::move(value), .loc = std::move(loc)});
}

template <class T>
const T* get_if(const Stmt& stmt) {
  return std::get_if<T>(&stmt->value);
}

const AttrValue* find_attr(const Attrs& attrs, std::string_view name);
std::string text_attr(const Attrs& attrs, std::string_view name);  // empty when absent
bool bool_attr(const Attrs& attrs, std::string_view name, bool otherwise);
int64_t int_attr(const Attrs& attrs, std::string_view name, int64_t otherwise);

// The same number: -0.0 and 0.0 differ, all NaNs are one.
bool same_double(double a, double b);
bool equal(const Attrs& a, const Attrs& b);

// Structural equality, positions ignored.
bool equal(const Stmt& a, const Stmt& b);
bool equal(const Block& a, const Block& b);

}  // namespace tilewright::ir
