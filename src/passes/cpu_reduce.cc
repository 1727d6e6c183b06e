#include "passes/cpu_reduce.h"

#include "layout/layout.h"
#include "ops/access.h"
#include "ops/operand.h"
#include "passes/cpu_atoms.h"
#include "passes/cpu_storage.h"
#include "target/cpu.h"
#include "target/dtype.h"

#include <algorithm>
#include <array>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Tile;
using ir::TileRef;

namespace {

// One row for each operation that has a functor in device/cpu/reduce.h.
struct Functor {
  std::string_view op;
  const char* name;
  bool adds = false;  // else the result is made of the elements' bits alone
};
constexpr std::array kFunctors = {
    Functor{"reduce_sum", "Sum", true},       Functor{"reduce_max", "Max"},       Functor{"reduce_min", "Min"},
    Functor{"reduce_abssum", "AbsSum", true}, Functor{"reduce_absmax", "AbsMax"}, Functor{"reduce_bitand", "BitAnd"},
    Functor{"reduce_bitor", "BitOr"},         Functor{"reduce_bitxor", "BitXor"},
};

const Functor* functor_of(const OpStmt& op, const Kernel& kernel) {
  // An option that is not known here changes the meaning. `batch` only groups threads.
  constexpr std::array<std::string_view, 3> kKnown = {"dim", "clear", "batch"};
  for (const auto& [name, value] : op.attrs) {
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) return nullptr;
  }
  const DType from = kernel.tile(op.tiles[0].tile).dtype, to = kernel.tile(op.tiles[1].tile).dtype;
  const auto it =
      std::find_if(kFunctors.begin(), kFunctors.end(), [&](const Functor& f) { return f.op == op.def->name; });
  if (it == kFunctors.end() || is_boolean(from) || is_boolean(to)) return nullptr;
  // The functor works in the storage type of both. Floats of 16 bits are stored as f32, where their sums belong.
  // Where the dtype has no infinity, the identity is another than that of the storage type.
  if (!it->adds && is_float(to) && !has_infinity(to)) return nullptr;
  const bool same = from == to || (it->adds && is_float(from) && cpu_storage(from) == cpu_storage(to));
  return same ? &*it : nullptr;
}

// A dimension of src, where it lies in dst (-1: nowhere) and its extent.
struct Dim {
  int src = -1, dst = -1;
  Expr extent;
};

class ReduceWriter {
 public:
  ReduceWriter(const OpStmt& op, ir::ExpandContext& context, const Loc& loc)
      : context_(context), loc_(loc), src_(op.tiles[0]), dst_(op.tiles[1]) {
    const int rank = int(src_.region.size());
    dim_ = int(ir::int_attr(op.attrs, "dim", rank - 1));
    keeps_ = !ir::bool_attr(op.attrs, "clear", true);
    std::vector<int> kept = ops::wide_dims(src_);
    std::erase(kept, dim_);
    const std::vector<int> to = ops::wide_dims(dst_);
    for (size_t k = 0; k < kept.size() && k < to.size(); ++k) {
      kept_.push_back({.src = kept[k], .dst = to[k], .extent = src_.region[size_t(kept[k])].extent});
    }
  }

  std::optional<Block> write(const Functor& functor) {
    const std::optional<int64_t> n = src_.region[size_t(dim_)].extent.as_int();
    if (!n) return std::nullopt;
    ir::Attrs attrs = {{"op", std::string(functor.name)}, {"n", *n}, {"keeps", int64_t(keeps_)}};
    if (stride(src_, dim_) == 1) {
      attrs.emplace_back("padded", int64_t(rows_are_padded()));
      return loops(make_atom(cpu_reduce_row(), std::move(attrs)), kept_.size());
    }
    if (kept_.empty()) return std::nullopt;
    // Columns are rounded by functors, which there are for the 16-bit floats.
    const DType to = context_.kernel.tile(dst_.tile).dtype;
    if (functor.adds && is_narrow_float(to) && to != DType::f16 && to != DType::bf16) return std::nullopt;
    // The last dimension that stays is the one that vectors run along.
    const Dim& along = kept_.back();
    if (stride(src_, along.src) != 1 || stride(dst_, along.dst) != 1 || !along.extent.as_int()) return std::nullopt;
    attrs.emplace_back("row_stride", stride(src_, dim_));
    attrs.emplace_back("cols", *along.extent.as_int());
    return loops(make_atom(cpu_reduce_columns(), std::move(attrs)), kept_.size() - 1);
  }

 private:
  int64_t stride(const TileRef& ref, int dim) const {
    return layout::stride_of(*context_.kernel.tile(ref.tile).layout, size_t(dim));
  }
  // Whether the storage of each row begins and ends with a cache line.
  bool rows_are_padded() const {
    const int rank = int(src_.region.size());
    const int64_t step = rank > 1 ? stride(src_, rank - 2) : 0;
    const int64_t bytes = bytes_of(storage_of(context_.kernel.tile(src_.tile)));
    return dim_ == rank - 1 && src_.region.back().begin.is_int(0) && step * bytes % kLineBytes == 0;
  }
  OpStmt make_atom(const ir::OpDef& def, ir::Attrs attrs) const {
    return {.def = &def, .tiles = {src_, dst_}, .scalars = {}, .attrs = std::move(attrs)};
  }

  // `atom` at each place of the first `count` dimensions that stay.
  Block loops(OpStmt atom, size_t count) {
    std::vector<Expr> vars = ops::fresh_indices(context_, count);
    for (size_t k = 0; k < count; ++k) {
      for (const auto& [ref, dim] :
           {std::pair(&atom.tiles[0], kept_[k].src), std::pair(&atom.tiles[1], kept_[k].dst)}) {
        ir::RegionDim& d = ref->region[size_t(dim)];
        d = {.begin = d.begin + vars[k], .extent = ir::int_imm(1)};
      }
    }
    Block body = {ir::make_stmt(std::move(atom), loc_)};
    for (size_t k = count; k-- > 0;) body = {ops::serial(vars[k], kept_[k].extent, std::move(body), loc_)};
    return body;
  }

  ir::ExpandContext& context_;
  const Loc& loc_;
  const TileRef &src_, &dst_;
  int dim_ = 0;
  bool keeps_ = false;
  std::vector<Dim> kept_;
};

}  // namespace

std::optional<Block> reduce_by_vectors(const OpStmt& op, ir::ExpandContext& context, const Loc& loc) {
  for (const TileRef& ref : op.tiles) {
    const Tile& tile = context.kernel.tile(ref.tile);
    if (!tile.on_chip() || (tile.rank() > 0 && !tile.layout)) return std::nullopt;
    if (storage_of(tile) != cpu_storage(tile.dtype)) return std::nullopt;
  }
  const Functor* functor = functor_of(op, context.kernel);
  if (functor == nullptr) return std::nullopt;
  return ReduceWriter(op, context, loc).write(*functor);
}

}  // namespace tilewright::passes
