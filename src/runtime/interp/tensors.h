// The tensors of a run: copied in, shared where the same view is passed twice, copied back at the end.
#pragma once

#include "runtime/bind.h"
#include "runtime/interp/memory.h"

#include <memory>
#include <vector>

namespace tilewright::interp {

class Tensors {
 public:
  // `written`: which rows of program.tensors some kernel stores to. Throws where a written one shares elements.
  Tensors(const ir::Program& program, const BoundArguments& bound, const std::vector<bool>& written, bool tracked);

  Array array(int row) const {
    const auto i = size_t(row);
    return Array(*storages_[owner_[i]], bound_.tensors[i].shape, program_.tensors[i].dtype);
  }
  // The written elements, into the caller's memory.
  void copy_back() const;

 private:
  void find_owners();
  void allocate(size_t row, bool tracked);
  void load(size_t row, bool tracked);
  void copy_back(size_t row) const;

  const ir::Program& program_;
  const BoundArguments& bound_;
  std::vector<size_t> owner_;                       // by row: the row whose storage it uses
  std::vector<std::unique_ptr<Storage>> storages_;  // by row; null where shared
};

}  // namespace tilewright::interp
