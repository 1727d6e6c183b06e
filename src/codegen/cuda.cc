#include "codegen/cuda.h"

#include "codegen/cuda_calls.h"
#include "codegen/emitter.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_passes.h"
#include "passes/schedule_ops.h"
#include "ir/rewrite.h"
#include "support/error.h"

#include <algorithm>

namespace tilewright::codegen {

using ir::Kernel;
using ir::OpStmt;
using ir::Tile;
using ir::TileId;

namespace {

bool has_atomics(const ir::Program& program) {
  return std::any_of(program.kernels.begin(), program.kernels.end(), [](const Kernel& kernel) {
    return ir::any_stmt(kernel.body, [](const ir::Stmt& stmt) { return ir::get_if<ir::AtomicStmt>(stmt) != nullptr; });
  });
}

// Writes one kernel.
class CudaKernelWriter : public Emitter {
 public:
  CudaKernelWriter(const ir::Program& program, const Kernel& kernel, TextWriter& out, CudaModule& module)
      : Emitter(program, kernel, Dialect::cuda, out, module.sites),
        plan_(passes::shared_plan(kernel)),
        reports_(module.reports) {
    exprs_.narrow_by(facts_);
  }

  CudaEntry write();

 private:
  void write_op(const OpStmt& op, const Loc& loc) override;
  void write_atomic(const ir::AtomicStmt& atomic, const Loc& loc) override {
    out_.line(exprs_.atomic(atomic, loc), loc);
  }
  std::string loop_hint(const ir::ForStmt& loop, size_t) const override {
    const int64_t factor = ir::int_attr(loop.attrs, "factor", 0);
    if (ir::bool_attr(loop.attrs, "registers", false)) return "#pragma unroll";
    if (loop.kind != ir::LoopKind::unrolled) return "";
    return factor > 0 ? fmt::format("#pragma unroll {}", factor) : "#pragma unroll";
  }
  void write_roles(std::span<const ir::Stmt> roles) override;
  void write_role(const ir::RoleStmt& role, bool first, const Loc& loc);
  void open_while(const ir::WhileStmt& loop, const Loc& loc) override;
  std::string parameters() const;
  void write_tiles();

  void write_report(const OpStmt& op, const Loc& loc);

  passes::SharedPlan plan_;
  std::vector<ops::Report>& reports_;
};

std::string CudaKernelWriter::parameters() const {
  std::string out;
  for (size_t t = 0; t < program_.tensors.size(); ++t) {
    const DType dtype = program_.tensors[t].dtype;
    out += fmt::format("{}* const tensor_{}, ", memory_type(dtype), t);
  }
  for (const ir::Scalar& scalar : program_.scalars) {
    out += fmt::format("const {} {}, ", value_type(scalar.var.dtype()), names_.var(scalar.var));
  }
  for (size_t m = 0; m < kernel_.maps.size(); ++m) {
    out += fmt::format("const __grid_constant__ tw::TensorMap {}, ", map_name(kernel_, int64_t(m)));
  }
  return out + "const tw::i64 first_block, tw::Failure* const failure";
}

void CudaKernelWriter::write_tiles() {
  const auto is_shared = [](const Tile& tile) { return tile.space == ir::Space::shared; };
  if (std::any_of(kernel_.tiles.begin(), kernel_.tiles.end(), is_shared))
    out_.line("extern __shared__ __align__(1024) unsigned char shared_memory[];", kernel_.loc);
  for (size_t i = 0; i < kernel_.tiles.size(); ++i) {
    const Tile& tile = kernel_.tiles[i];
    const TileId id = TileId(i);
    // An unchecked row shares the pointer of the row it was made from.
    if (tile.unchecked || (tile.on_chip() && tile.view_of >= 0)) continue;
    const std::string type = names_.memory_type(id), name = names_.tile(id);
    if (!tile.on_chip()) {
      out_.line(fmt::format("{}* const {} = tensor_{};", type, name, tile.tensor), tile.loc);
    } else if (tile.space == ir::Space::shared) {
      out_.line(fmt::format("{}* const {} = reinterpret_cast<{}*>(shared_memory + {});  // {}", type, name, type,
                            plan_.offsets[i], ir::describe(tile)),
                tile.loc);
      declare_views(id, tile.loc);
    } else if (!is_only_private(id)) {
      declare_local(id, tile.loc);
    }
  }
}

CudaEntry CudaKernelWriter::write() {
  CudaEntry entry{
      .symbol = "tw_" + kernel_.name, .grid = kernel_.grid, .threads = kernel_.threads, .shared_bytes = plan_.bytes};
  entry.maps = kernel_.maps;
  entry.first_report = reports_.size();
  // Registers change hands between the warps of one block, which has them all.
  const bool alone = std::any_of(kernel_.roles.begin(), kernel_.roles.end(), [](auto& r) { return r.max_regs > 0; });
  out_.line(fmt::format("extern \"C\" __global__ void __launch_bounds__({}{})", entry.threads, alone ? ", 1" : ""),
            kernel_.loc);
  out_.open(fmt::format("{}({}) {{", entry.symbol, parameters()), kernel_.loc);
  // What a kernel before this one found wrong ends the program.
  if (!sites_.empty()) out_.line("if (failure->site != 0) return;", kernel_.loc);
  write_tiles();
  const std::string type = exprs_.define(kernel_.thread_var, {ir::int_imm(kernel_.threads)});
  out_.line(fmt::format("const {} {} = {}(threadIdx.x);", type, names_.var(kernel_.thread_var), type), kernel_.loc);
  if (!kernel_.roles.empty()) out_.line("const tw::u32 this_warp = tw::warp_id();", kernel_.loc);
  out_.line("const tw::i64 block = first_block + blockIdx.x;", kernel_.loc);
  write_block_indices();
  Emitter::write(kernel_.body);
  out_.close();
  return entry;
}

void CudaKernelWriter::write_roles(std::span<const ir::Stmt> roles) {
  for (size_t i = 0; i < roles.size(); ++i) write_role(*ir::get_if<ir::RoleStmt>(roles[i]), i == 0, roles[i]->loc);
  out_.close();
}

// One branch of an if, so that the compiler sees that each warp has one number of registers.
void CudaKernelWriter::write_role(const ir::RoleStmt& role, bool first, const Loc& loc) {
  const int begin = role.exec.first_warp, end = begin + role.exec.num_warps;
  std::string guard = role.exec.num_warps == 1 ? fmt::format("this_warp == {}", begin)
                      : begin == 0             ? fmt::format("this_warp < {}", end)
                      : end * ir::kWarpThreads >= kernel_.threads
                          ? fmt::format("this_warp >= {}", begin)
                          : fmt::format("this_warp >= {} && this_warp < {}", begin, end);
  if (role.elected) guard += " && tw::elect_one() != 0";
  const std::string line = fmt::format("if ({}) {{  // {}", guard, role.name);
  if (first) {
    out_.open(line, loc);
  } else {
    out_.close("} else " + line);
    out_.indent();
  }
  if (role.max_regs > 0) {
    // What a thread has at launch: its share of the 65536 registers of a multiprocessor, in steps of 8.
    const int at_launch = 65536 / kernel_.threads / 8 * 8;
    const char* change = role.max_regs > at_launch ? "more" : "fewer";
    out_.line(fmt::format("tw::{}_registers<{}>();", change, role.max_regs), loc);
  }
  Emitter::write(role.body);
}

// A thread may leave at a failed check that others wait for here.
void CudaKernelWriter::open_while(const ir::WhileStmt& loop, const Loc& loc) {
  out_.open(fmt::format("for (tw::u32 turn = 0; {};) {{", exprs_.text(loop.condition)), loc);
  out_.line("if (tw::stops(++turn, failure)) return;", loc);
}

void CudaKernelWriter::write_report(const OpStmt& op, const Loc& loc) {
  const ops::Report& report = reports_.emplace_back(ops::Report::of(op, kernel_, loc));
  const std::string cells = report_cells(op);
  const std::string condition = exprs_.text(op.scalars[0]);
  if (report.is_assert) {
    if (report.num_cells() > kMaxFailureCells) throw internal_error(loc, "an assertion with too many values");
    sites_.push_back({.tile = {}, .shape = {}, .report = int(reports_.size()) - 1, .loc = loc, .declared = {}});
    // One thread of several that leaves would be waited for; it goes on, as the launch fails.
    const char* leave = ir::bool_attr(op.attrs, "leaves", false) ? "return " : "";
    return out_.line(fmt::format("if (!({})) {}tw::fail(failure, {}, {});", condition, leave, sites_.size(), cells),
                     loc);
  }
  out_.open(op.scalars[0].is_int(1) ? "{" : fmt::format("if ({}) {{", condition), loc);
  out_.line(fmt::format("const tw::i64 cells[] = {{{}}};", cells), loc);
  out_.line(fmt::format("tw::report(failure, {}, cells);", reports_.size() - 1), loc);
  out_.close();
}

void CudaKernelWriter::write_op(const OpStmt& op, const Loc& loc) {
  if (op.def->reports) return write_report(op, loc);
  if (op.def->assumes) return out_.line(exprs_.assumption(op.scalars[0], loc), loc);
  const auto address = [&](size_t i) { return exprs_.address(op.tiles[i]); };
  if (op.def == &passes::block_sync_op()) return out_.line("tw::sync_block();", loc);
  if (op.def == &passes::cp_async_commit_op()) return out_.line("tw::copy_async_commit();", loc);
  if (op.def == &passes::cp_async_wait_op()) {
    return out_.line(fmt::format("tw::copy_async_wait<{}>();", ir::int_attr(op.attrs, "pending", 0)), loc);
  }
  if (op.def == &passes::cp_async_op()) {
    return out_.line(fmt::format("tw::copy_async_zero_fill<16>(tw::shared_address({}), {}, tw::u32({}));", address(0),
                                 address(1), exprs_.text(op.scalars[0])),
                     loc);
  }
  if (op.def == &passes::ldmatrix_op()) {
    return out_.line(fmt::format("tw::load_matrix_x{}{}({}, tw::shared_address({}));", ir::int_attr(op.attrs, "num", 0),
                                 ir::bool_attr(op.attrs, "trans", false) ? "_transposed" : "", address(0), address(1)),
                     loc);
  }
  if (op.def == &passes::mma_op()) {
    const auto* type = std::get_if<std::string>(ir::find_attr(op.attrs, "type"));
    return out_.line(fmt::format("tw::mma_m16n8k16_f32_{}({}, {}, {});", *type, address(0), address(1), address(2)),
                     loc);
  }
  if (op.def == &passes::shuffle_xor_op()) {
    return out_.line(fmt::format("{} = tw::shuffle_lanes({}, {});", exprs_.element(op.tiles[0].tile, {}),
                                 exprs_.element(op.tiles[1].tile, {}), ir::int_attr(op.attrs, "lanes", 0)),
                     loc);
  }
  if (op.def == &passes::load_vector_op() || op.def == &passes::store_vector_op()) {
    const bool loads = op.def == &passes::load_vector_op();
    const DType to = kernel_.tile(op.tiles[0].tile).dtype, from = kernel_.tile(op.tiles[1].tile).dtype;
    std::string target = address(0);
    // The memory's type says how its elements are converted.
    if (!loads && converting_type(from, to) != memory_type(to)) {
      target = fmt::format("reinterpret_cast<{}*>({})", converting_type(from, to), target);
    }
    const char* hint = !ir::bool_attr(op.attrs, "once", false) ? ""
                       : loads                                 ? ", tw::LoadHint::no_l1"
                                                               : ", tw::StoreHint::stream";
    return out_.line(fmt::format("tw::{}_vector<{}{}>({}, {});", loads ? "load" : "store",
                                 ir::int_attr(op.attrs, "count", 0), hint, target, address(1)),
                     loc);
  }
  const std::vector<std::string> calls = schedule_call(op, kernel_, exprs_);
  if (calls.empty()) throw internal_error(loc, "op {} reached the CUDA emitter", op.def->name);
  for (const std::string& line : calls) out_.line(line, loc);
}

}  // namespace

CudaModule emit_cuda(const ir::Program& lowered, const CudaTarget& target) {
  CudaModule module;
  TextWriter out;
  out.line(fmt::format("// {}, generated by Tilewright for {}.", lowered.name, target.name()));
  for (const char* header : {"async_copy", "barrier", "language", "matrix", "mma"}) {
    out.line(fmt::format("#include <tilewright/device/cuda/{}.h>", header));
  }
  if (has_atomics(lowered)) out.line("#include <tilewright/device/cuda/update.h>");
  for (const std::string& header : schedule_headers(lowered)) {
    out.line(fmt::format("#include <tilewright/device/cuda/{}.h>", header));
  }
  out.line();
  out.line("namespace tw = tilewright::device;");
  for (const Kernel& kernel : lowered.kernels) {
    out.line();
    module.entries.push_back(CudaKernelWriter(lowered, kernel, out, module).write());
  }
  module.source = out.text();
  module.annotated = out.annotated();
  module.source_map = out.source_map();
  return module;
}

}  // namespace tilewright::codegen
