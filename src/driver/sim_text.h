// A program's CUDA text, compiled for the simulator.
#pragma once

#include "codegen/cuda.h"
#include "driver/executable.h"
#include "runtime/sim/detector.h"
#include "runtime/sim/module.h"
#include "target/sim.h"

#include <tilewright/check.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

class SimText {
 public:
  SimText(const ir::Program& program, const SimTarget& target, std::vector<Remark>& remarks);

  const codegen::CudaModule& module() const { return module_; }
  const std::string& tiles() const { return tiles_; }
  const std::vector<sim::Code>& kernels() const { return code_->kernels(); }
  // Where the tiles of a kernel lie in shared memory.
  std::vector<sim::SharedPart> shared_parts(size_t kernel) const;
  // What the simulator found in a kernel, at the author's lines.
  std::vector<Error> errors(size_t kernel, const std::vector<sim::Finding>& findings,
                            const BoundArguments& bound) const;
  // What was counted in a kernel, one entry for each line of its text.
  std::vector<LineCounters> lines(size_t kernel, const std::map<uint64_t, Counters>& counted) const;

 private:
  std::string memory_name(size_t kernel, const sim::Memory& memory, const BoundArguments& bound) const;

  ir::Program lowered_;
  codegen::CudaModule module_;
  std::string tiles_;
  std::shared_ptr<const sim::Module> code_;
};

}  // namespace tilewright
