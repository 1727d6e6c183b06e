#include "ir/verify.h"

#include "ir/lexer.h"
#include "ir/print.h"
#include "ir/simplify.h"
#include "ir/verify_parts.h"
#include "ir/view.h"
#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::ir {

namespace {

constexpr size_t kMaxNameLength = 64;
constexpr int kMaxThreads = 1024;

// Keywords of C and C++, each between blanks.
constexpr std::string_view kKeywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t "
    "class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield "
    "decltype default delete do double dynamic_cast else enum explicit export extern false float for friend "
    "goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
    "protected public register reinterpret_cast requires return restrict short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq _Bool _Complex "
    "_Atomic ";

// Names of one table, each with its first declaration.
class UniqueNames {
 public:
  void add(const std::string& name, const Loc& loc) {
    check_name(name, loc);
    const auto [it, is_new] = first_.try_emplace(name, loc);
    if (is_new) return;
    throw invalid_kernel(loc, "the name {} is used twice", name)
        .note(fmt::format("{}  the first one", name), it->second)
        .hint("give each tensor, scalar, tile and kernel a name of its own");
  }

 private:
  std::map<std::string, Loc> first_;
};

// Passes take for granted that index arithmetic on extents and strides does not wrap.
void check_most(const Expr& e, std::string_view what, const Loc& loc) {
  const int64_t value = e.as_int().value_or(0);
  if (value >= -kMaxExtent && value <= kMaxExtent) return;
  throw invalid_kernel(loc, "{} {}, but at most {} is possible", what, value, kMaxExtent)
      .hint("that is 2^48; fold or split the tensor");
}

class ProgramChecker {
 public:
  ProgramChecker(const Program& program, bool structure_only)
      : program_(program), scopes_(program.next_var), exprs_(scopes_, structure_only) {}

  void check() {
    check_name(program_.name, program_.loc);
    UniqueNames names, kernel_names;
    for (const Scalar& scalar : program_.scalars) {
      scopes_.define(scalar.var, VarRole::scalar, scalar.loc);
      names.add(scalar.var->name, scalar.loc);
    }
    for (const Tensor& tensor : program_.tensors) {
      names.add(tensor.name, tensor.loc);
      check_tensor(tensor);
    }
    check_params();
    verify_tensor_views(program_);
    for (const Kernel& kernel : program_.kernels) {
      kernel_names.add(kernel.name, kernel.loc);
      check_kernel(kernel);
    }
    if (exprs_.structure_only()) return;
    for (const Kernel& kernel : program_.kernels) verify_initialised(kernel);
  }

 private:
  void check_tensor(const Tensor& tensor);
  void check_params();
  void check_param(const Param& param, size_t position);
  void check_listed();
  void check_kernel(const Kernel& kernel);
  void check_grid(const Kernel& kernel);
  void check_threads(const Kernel& kernel);
  void check_tile(const Tile& tile);
  void check_tensor_row(const Tile& tile);
  void check_tile_shape(const Tile& tile);

  const Program& program_;
  VarScopes scopes_;
  ExprChecker exprs_;
};

void ProgramChecker::check_tensor(const Tensor& tensor) {
  for (const Expr& e : tensor.shape) {
    exprs_.check_launch_value(e, fmt::format("an extent of tensor {}", tensor.name), tensor.loc);
    if (e.as_int().value_or(0) < 0) {
      throw invalid_kernel(tensor.loc, "tensor {} has extent {}", tensor.name, *e.as_int())
          .hint("extents are 0 or more");
    }
    check_most(e, fmt::format("tensor {} has extent", tensor.name), tensor.loc);
  }
  for (const Expr& e : tensor.strides) {
    exprs_.check_launch_value(e, fmt::format("a stride of tensor {}", tensor.name), tensor.loc);
    check_most(e, fmt::format("tensor {} has stride", tensor.name), tensor.loc);
  }
  if (tensor.strides.empty() || tensor.strides.size() == tensor.shape.size()) return;
  throw invalid_kernel(tensor.loc, "tensor {} has {} dimensions but {} strides", tensor.name, tensor.shape.size(),
                       tensor.strides.size())
      .hint("give one stride per dimension, in elements, or none for contiguous rows");
}

void ProgramChecker::check_param(const Param& param, size_t position) {
  const size_t rows = param.is_tensor ? program_.tensors.size() : program_.scalars.size();
  const char* what = param.is_tensor ? "tensor" : "scalar";
  if (param.index < 0 || size_t(param.index) >= rows) {
    throw invalid_kernel(program_.loc, "parameter {} is {} {}, but the program has {} of them", position, what,
                         param.index, rows)
        .hint("parameters are rows of the program's tensors and scalars");
  }
  const size_t row = size_t(param.index);
  const bool passed = param.is_tensor ? program_.tensors[row].kind == TensorKind::parameter
                                      : program_.scalars[row].kind == ScalarKind::parameter;
  const std::string& name = param.is_tensor ? program_.tensors[row].name : program_.scalars[row].var->name;
  const Loc& loc = param.is_tensor ? program_.tensors[row].loc : program_.scalars[row].loc;
  if (!passed) {
    throw invalid_kernel(loc, "{} is listed as a parameter but is {}", name,
                         param.is_tensor ? "a workspace" : "an extent")
        .hint("workspaces are allocated and extents are solved at launch; neither is passed");
  }
  const auto earlier = program_.params.begin() + std::ptrdiff_t(position);
  if (std::find(program_.params.begin(), earlier, param) != earlier) {
    throw invalid_kernel(loc, "{} is listed twice as a parameter", name).hint("list each parameter once");
  }
}

void ProgramChecker::check_params() {
  for (size_t i = 0; i < program_.params.size(); ++i) check_param(program_.params[i], i);
  check_listed();
}

void ProgramChecker::check_listed() {
  const auto require = [&](const Param& param, const std::string& name, const Loc& loc) {
    if (std::find(program_.params.begin(), program_.params.end(), param) != program_.params.end()) return;
    throw invalid_kernel(loc, "{} is a parameter but is not listed as one", name)
        .hint("list it among the program's parameters, or make it a workspace or an extent");
  };
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    const Tensor& t = program_.tensors[i];
    if (t.kind == TensorKind::parameter) require({.is_tensor = true, .index = int(i)}, t.name, t.loc);
  }
  for (size_t i = 0; i < program_.scalars.size(); ++i) {
    const Scalar& s = program_.scalars[i];
    if (s.kind == ScalarKind::parameter) require({.is_tensor = false, .index = int(i)}, s.var->name, s.loc);
  }
}

void ProgramChecker::check_grid(const Kernel& kernel) {
  const size_t rank = kernel.grid.size();
  if (rank < 1 || rank > 3) {
    throw invalid_kernel(kernel.loc, "the grid has {} dimensions, but 1 to 3 are possible", rank)
        .hint("fold further dimensions into one and take them apart with // and %");
  }
  if (kernel.block_vars.size() != rank) {
    throw invalid_kernel(kernel.loc, "the grid has {} dimensions but {} block variables", rank,
                         kernel.block_vars.size())
        .hint("give one block variable per dimension");
  }
  for (const Expr& e : kernel.grid) {
    exprs_.check_launch_value(e, "a grid extent", kernel.loc);
    if (e.as_int().value_or(0) < 0) {
      throw invalid_kernel(kernel.loc, "the grid has extent {}", *e.as_int()).hint("extents are 0 or more");
    }
    check_most(e, "the grid has extent", kernel.loc);
  }
  for (const Expr& v : kernel.block_vars) {
    scopes_.define(v, VarRole::block, kernel.loc);
    if (v.dtype() == kIndex) continue;
    throw invalid_kernel(kernel.loc, "block variable {} has dtype {}", v->name, to_string(v.dtype()))
        .hint(fmt::format("block variables have dtype {}", to_string(kIndex)));
  }
}

void ProgramChecker::check_threads(const Kernel& kernel) {
  const std::vector<int>& extents = kernel.thread_extents;
  int64_t product = extents.empty() ? kernel.threads : 1;
  bool possible = product >= 1 && product <= kMaxThreads;
  for (int e : extents) {
    possible = possible && e >= 1 && product * e <= kMaxThreads;
    if (possible) product *= e;
  }
  if (!possible) {
    const std::string count =
        extents.empty() ? fmt::format("{}", kernel.threads) : fmt::format("{}", fmt::join(extents, " x "));
    throw invalid_kernel(kernel.loc, "a block has {} threads, but 1 to {} are possible", count, kMaxThreads)
        .hint(extents.empty() ? fmt::format("the nearest is {}", std::clamp(kernel.threads, 1, kMaxThreads))
                              : fmt::format("extents of at least 1, whose product is at most {}", kMaxThreads));
  }
  if (extents.empty() || (product == kernel.threads && extents.size() <= 3)) return;
  throw invalid_kernel(kernel.loc, "the {} threads of a block are arranged as ({})", kernel.threads,
                       fmt::join(extents, ", "))
      .hint("give up to 3 extents of at least 1, whose product is the number of threads");
}

void ProgramChecker::check_kernel(const Kernel& kernel) {
  scopes_.open();
  check_grid(kernel);
  check_threads(kernel);
  if (kernel.thread_var) {
    scopes_.define(kernel.thread_var, VarRole::thread, kernel.loc);
    if (kernel.thread_var.dtype() != kIndex) {
      throw invalid_kernel(kernel.loc, "thread variable {} has dtype {}", kernel.thread_var->name,
                           to_string(kernel.thread_var.dtype()))
          .hint(fmt::format("the thread variable has dtype {}", to_string(kIndex)));
    }
  }
  UniqueNames names;
  for (const Tile& tile : kernel.tiles) {
    check_name(tile.name, tile.loc);
    // Rows that passes make may repeat a name: second views of a tile, and tiles of an operation's expansion.
    if (!tile.unchecked && tile.origin.empty()) names.add(tile.name, tile.loc);
    check_tile(tile);
  }
  verify_tile_views(program_, kernel);
  verify_annotated(kernel);
  const bool has_tables = !kernel.roles.empty() || !kernel.channels.empty() || !kernel.maps.empty();
  if (has_tables && !exprs_.structure_only()) refuse_tables(kernel.loc);
  verify_tables(program_, kernel);
  exprs_.enter(&kernel);
  verify_body(kernel, scopes_, exprs_);
  exprs_.enter(nullptr);
  scopes_.close();
}

void ProgramChecker::check_tensor_row(const Tile& tile) {
  const size_t count = program_.tensors.size();
  if (tile.on_chip()) {
    if (tile.tensor == -1) return;
    throw invalid_kernel(tile.loc, "tile {} is {} but refers to tensor {}", tile.name, to_string(tile.space),
                         tile.tensor)
        .hint("only global tiles have a tensor");
  }
  if (tile.tensor < 0 || size_t(tile.tensor) >= count) {
    throw invalid_kernel(tile.loc, "tile {} refers to tensor {}, but the program has {} tensors", tile.name,
                         tile.tensor, count)
        .hint("a global tile is a tensor or workspace of the program");
  }
  const Tensor& tensor = program_.tensors[size_t(tile.tensor)];
  if (tile.dtype != tensor.dtype || tile.shape.size() != tensor.shape.size()) {
    throw invalid_kernel(tile.loc, "tile {} is {} with {} dimensions but its tensor {} is {} with {}", tile.name,
                         to_string(tile.dtype), tile.rank(), tensor.name, to_string(tensor.dtype), tensor.shape.size())
        .note(tensor.name, tensor.loc)
        .hint("a global tile has the dtype and shape of its tensor");
  }
}

void ProgramChecker::check_tile_shape(const Tile& tile) {
  int64_t num_elems = 1;
  bool overflow = false;
  for (const Expr& e : tile.shape) {
    exprs_.check_launch_value(e, fmt::format("an extent of tile {}", tile.name), tile.loc);
    const std::optional<int64_t> extent = e.as_int();
    if (extent && *extent < 0) {
      throw invalid_kernel(tile.loc, "tile {} has extent {}", tile.name, *extent).hint("extents are 0 or more");
    }
    check_most(e, fmt::format("tile {} has extent", tile.name), tile.loc);
    if (tile.on_chip() && !extent) {
      throw invalid_kernel(tile.loc, "tile {} has an extent that is not a constant", tile.name)
          .hint("on-chip tiles have constant extents; only tensors may have dynamic ones");
    }
    if (!tile.on_chip()) continue;
    overflow |= __builtin_mul_overflow(num_elems, std::max<int64_t>(*extent, 1), &num_elems);
  }
  overflow |= num_elems > INT64_MAX / bytes_of(tile.dtype) / std::max(tile.stages, 1);
  if (!overflow) return;
  throw invalid_kernel(tile.loc, "tile {} has more bytes than 64 bits can count", tile.name)
      .hint("split it over blocks or loops");
}

void ProgramChecker::check_tile(const Tile& tile) {
  check_tensor_row(tile);
  if (tile.stages < 1) {
    throw invalid_kernel(tile.loc, "tile {} has {} stages", tile.name, tile.stages).hint("a tile has at least 1 stage");
  }
  check_tile_shape(tile);
  check_safe_value(tile, tile.safe_value, tile.loc);
  if (tile.annotated) return;  // verify_annotated says more
  if (tile.fragment && (tile.space != Space::fragment || tile.fragment->shape() != tile.extents())) {
    throw invalid_kernel(tile.loc, "the fragment {} does not fit tile {}", layout::to_string(*tile.fragment), tile.name)
        .note(fmt::format("{}  {}", tile.name, describe(tile)), tile.loc)
        .hint("fragment tiles have fragments, with the tile's own extents");
  }
  if (!tile.layout) return;
  if (!tile.on_chip() || tile.layout->shape() != tile.extents()) {
    throw invalid_kernel(tile.loc, "the layout {} does not fit tile {}", layout::to_string(*tile.layout), tile.name)
        .note(fmt::format("{}  {}", tile.name, describe(tile)), tile.loc)
        .hint("on-chip tiles have layouts, with the tile's own extents");
  }
}

// The value of `dtype` next to `value`.
double nearest(DType dtype, double value) {
  if (is_float(dtype)) return constant_of(dtype, value);
  const int64_t i = saturate_to_int(dtype, value);
  return dtype == DType::u64 ? double(uint64_t(i)) : double(i);
}

}  // namespace

void check_safe_value(const Tile& tile, double value, const Loc& loc) {
  const double close = nearest(tile.dtype, value);
  if (value == close || (std::isnan(value) && is_float(tile.dtype))) return;
  throw invalid_kernel(loc, "the safe value {} of {} is not a value of {}", float_text(value), tile.name,
                       to_string(tile.dtype))
      .hint(fmt::format("the nearest is {}", float_text(close)));
}

void check_name(std::string_view name, const Loc& loc) {
  if (name.size() > kMaxNameLength) {
    throw invalid_kernel(loc, "the name {}... has {} characters, but at most {} are possible",
                         name.substr(0, kMaxNameLength / 2), name.size(), kMaxNameLength)
        .hint("choose a shorter name");
  }
  if (!is_identifier(name)) {
    throw invalid_kernel(loc, "'{}' is not an identifier", name)
        .hint("names have letters, digits and _, and do not begin with a digit");
  }
  if (kKeywords.find(fmt::format(" {} ", name)) != std::string_view::npos) {
    throw invalid_kernel(loc, "'{}' is a keyword of C++", name).hint(fmt::format("for instance {}_ is possible", name));
  }
}

void verify(const Program& program) { ProgramChecker(program, false).check(); }
void verify_structure(const Program& program) { ProgramChecker(program, true).check(); }

}  // namespace tilewright::ir
