#include "runtime/interp/interp.h"

#include "ir/op.h"
#include "runtime/bind.h"
#include "runtime/interp/compile_stmt.h"
#include "runtime/interp/tensors.h"
#include "support/error.h"

#include <algorithm>

namespace tilewright {

namespace interp {

namespace {

std::vector<bool> written_tensors(const ir::Program& program) {
  std::vector<bool> out(program.tensors.size(), false);
  for (const ir::Kernel& kernel : program.kernels) {
    for (ir::TileId id : tiles_written(kernel.body)) {
      const ir::Tile& tile = kernel.tile(kernel.storage_of(id));
      if (!tile.on_chip()) out[size_t(tile.tensor)] = true;
    }
  }
  return out;
}

template <class M>
class KernelRun {
 public:
  KernelRun(const ir::Program& program, const ir::Kernel& kernel, Tensors& tensors, const BoundArguments& bound,
            const InterpOptions& options)
      : kernel_(kernel), body_(StmtCompiler<M>(kernel).block(kernel.body)), on_chip_(kernel.tiles.size()) {
    m_.kernel = &kernel;
    m_.options = options;
    m_.vars.resize(size_t(program.next_var));
    for (size_t id = 0; id < bound.scalars.size(); ++id) {
      if (!bound.scalars[id]) continue;
      m_.vars[id] = {M::float_imm(bound.scalars[id]->f), M::int_imm(bound.scalars[id]->i)};
    }
    for (size_t id = 0; id < kernel.tiles.size(); ++id) add_tile(kernel.tiles[id], id, tensors);
    for (const ir::Expr& e : kernel.grid) m_.grid.push_back(std::max<int64_t>(evaluate(e, bound.scalars), 0));
    if (options.check_block_order) watch(true);
  }

  void run() {
    m_.block.assign(m_.grid.size(), 0);
    if (std::find(m_.grid.begin(), m_.grid.end(), 0) != m_.grid.end()) return;
    m_.one_block = std::all_of(m_.grid.begin(), m_.grid.end(), [](int64_t e) { return e == 1; });
    do {
      for (size_t d = 0; d < m_.grid.size(); ++d) {
        m_.vars[size_t(kernel_.block_vars[d].var_id())].i = M::int_imm(m_.block[d]);
      }
      for (Storage& storage : on_chip_) storage.forget();
      body_->run(m_);
    } while (next_block());
    watch(false);
  }

 private:
  void add_tile(const ir::Tile& tile, size_t id, Tensors& tensors) {
    if (!tile.on_chip()) return m_.tiles.push_back(tensors.array(tile.tensor));
    const auto root = size_t(kernel_.storage_of(ir::TileId(id)));
    if (root == id) {
      std::vector<DType> dtypes;
      for (size_t other = 0; other < kernel_.tiles.size(); ++other) {
        if (kernel_.share_storage(ir::TileId(other), ir::TileId(id))) dtypes.push_back(kernel_.tiles[other].dtype);
      }
      on_chip_[id].resize(tile.dtype, dtypes, size_t(tile.num_elems()), M::kTracked, tile.name, tile.loc);
    }
    m_.tiles.emplace_back(on_chip_[root], tile.extents(), tile.dtype);
  }

  // Starts or ends watching the tensors that the kernel writes.
  void watch(bool on) {
    for (ir::TileId id : tiles_written(kernel_.body)) {
      if (kernel_.tile(id).on_chip()) continue;
      Storage& storage = *m_.tiles[size_t(id)].storage;
      storage.watch.start(on ? storage.cells.size() : 0);
    }
  }

  bool next_block() {
    ++m_.block_number;
    for (size_t d = 0; d < m_.grid.size(); ++d) {
      if (++m_.block[d] < m_.grid[d]) return true;
      m_.block[d] = 0;
    }
    return false;
  }

  const ir::Kernel& kernel_;
  StepNode<M> body_;
  std::vector<Storage> on_chip_;
  Machine<M> m_;
};

std::vector<std::vector<double>> bounds_of(const ir::Program& program, Tensors& tensors) {
  std::vector<std::vector<double>> out;
  for (const ir::Param& param : program.params) {
    std::vector<double>& bounds = out.emplace_back();
    if (!param.is_tensor) continue;
    const Array array = tensors.array(param.index);
    const size_t count = array.storage->bounds.size() / array.units;
    for (size_t at = 0; at < count; ++at) bounds.push_back(2 * array.bound_of(at).err);
  }
  return out;
}

template <class M>
InterpResult run_program(const ir::Program& program, const BoundArguments& bound, const InterpOptions& options) {
  Tensors tensors(program, bound, written_tensors(program), M::kTracked);
  for (const ir::Kernel& kernel : program.kernels) KernelRun<M>(program, kernel, tensors, bound, options).run();
  tensors.copy_back();
  return InterpResult(bounds_of(program, tensors));
}

}  // namespace

}  // namespace interp

InterpResult interpret(const ir::Program& program, std::span<const Argument> arguments, const InterpOptions& options) {
  const BoundArguments bound = bind_arguments(program, arguments);
  const ir::Program expanded = ir::expand_ops(program);
  return options.track_error ? interp::run_program<interp::Tracked>(expanded, bound, options)
                             : interp::run_program<interp::Plain>(expanded, bound, options);
}

}  // namespace tilewright
