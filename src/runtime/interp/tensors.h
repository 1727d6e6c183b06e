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

  Storage& storage(int row) { return *of_row_[size_t(row)]; }
  // The written elements, into the caller's memory.
  void copy_back() const;

 private:
  void load(size_t row, bool tracked);

  const ir::Program& program_;
  const BoundArguments& bound_;
  std::vector<std::unique_ptr<Storage>> owned_;  // by row; null where shared with an earlier one
  std::vector<Storage*> of_row_;
};

}  // namespace tilewright::interp
