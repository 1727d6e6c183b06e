// Hand-built IR programs for the interpreter's tests.
#pragma once

#include "ir/op.h"
#include "runtime/interp/interp.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace tilewright::test {

using namespace ir;

inline Loc at(int line) { return Loc::at("kernel.tw", line); }

// One kernel over tensors; the grid is one block unless set.
struct Builder {
  Program program;

  Builder() {
    program.name = "sample";
    program.loc = at(1);
    Kernel kernel;
    kernel.name = "sample";
    kernel.loc = at(1);
    program.kernels.push_back(kernel);
    set_grid({int_imm(1)});
  }

  Kernel& kernel() { return program.kernels[0]; }
  void set_grid(std::vector<Expr> grid) {
    kernel().grid = std::move(grid);
    kernel().block_vars.clear();
    const char* names[] = {"bx", "by", "bz"};
    for (size_t d = 0; d < kernel().grid.size(); ++d) kernel().block_vars.push_back(program.fresh_var(names[d]));
  }
  TileId tensor(std::string name, DType dtype, std::vector<Expr> shape, TensorKind kind = TensorKind::parameter,
                std::vector<Expr> strides = {}) {
    const int row = int(program.tensors.size());
    const Loc loc = at(10 + row);
    program.tensors.push_back(
        {.name = name, .dtype = dtype, .shape = shape, .strides = strides, .kind = kind, .loc = loc});
    if (kind == TensorKind::parameter) program.params.push_back({.is_tensor = true, .index = row});
    return add_tile({.name = name,
                     .space = Space::global,
                     .dtype = dtype,
                     .shape = shape,
                     .tensor = row,
                     .layout = std::nullopt,
                     .origin = "",
                     .loc = loc});
  }
  TileId tile(std::string name, Space space, DType dtype, std::vector<int64_t> shape) {
    std::vector<Expr> extents;
    for (int64_t e : shape) extents.push_back(int_imm(e));
    return add_tile({.name = std::move(name),
                     .space = space,
                     .dtype = dtype,
                     .shape = extents,
                     .layout = std::nullopt,
                     .origin = "",
                     .loc = at(30)});
  }
  TileId add_tile(Tile t) {
    kernel().tiles.push_back(std::move(t));
    return TileId(kernel().tiles.size()) - 1;
  }
  Expr scalar(std::string name, DType dtype, ScalarKind kind = ScalarKind::parameter) {
    const int row = int(program.scalars.size());
    Expr v = program.fresh_var(std::move(name), dtype);
    program.scalars.push_back({.var = v, .kind = kind, .loc = at(20 + row)});
    if (kind == ScalarKind::parameter) program.params.push_back({.is_tensor = false, .index = row});
    return v;
  }
  Expr extent(std::string name) { return scalar(std::move(name), kIndex, ScalarKind::extent); }

  Expr get(TileId id, std::vector<Expr> indices, int line = 0) {
    const Tile& t = kernel().tile(id);
    return load(id, t.name, t.dtype, std::move(indices), line ? at(line) : Loc{});
  }
  Stmt put(TileId id, std::vector<Expr> indices, Expr value, int line = 100) {
    return make_stmt(StoreStmt{.tile = id, .indices = std::move(indices), .value = std::move(value)}, at(line));
  }
  Stmt loop(LoopKind kind, Expr v, Expr count, Block body, int line = 90, int64_t step = 1, Expr begin = int_imm(0)) {
    return make_stmt(ForStmt{.kind = kind,
                             .dims = {{.var = v, .begin = begin, .extent = count, .step = step}},
                             .attrs = {},
                             .body = std::move(body)},
                     at(line));
  }
  void add(Stmt stmt) { kernel().body.push_back(std::move(stmt)); }
  InterpResult run(std::vector<Argument> arguments, InterpOptions options = {}) {
    return interpret(program, arguments, options);
  }
};

template <class T>
TensorView view(std::vector<T>& data, DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  return {.data = data.data(), .dtype = dtype, .shape = std::move(shape), .strides = std::move(strides)};
}

inline std::string report_of(const std::function<void()>& code) {
  try {
    code();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace tilewright::test
