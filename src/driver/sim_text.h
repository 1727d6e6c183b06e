// A program's CUDA text, compiled for the simulator.
#pragma once

#include "codegen/cuda.h"
#include "driver/executable.h"
#include "runtime/host_compiler.h"
#include "runtime/sim/machine.h"
#include "target/sim.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

class SimText {
 public:
  SimText(const ir::Program& program, const SimTarget& target, std::vector<Remark>& remarks);

  void load();
  const codegen::CudaModule& module() const { return module_; }
  const std::string& tiles() const { return tiles_; }
  const std::vector<sim::Code>& kernels() const { return kernels_; }  // after load
  // What the simulator found in a kernel, at the author's lines.
  std::vector<Error> errors(size_t kernel, const std::vector<sim::Finding>& findings,
                            const BoundArguments& bound) const;

 private:
  class Namer;
  void add_entries();
  std::vector<std::string> flags(CompilerKind kind) const;
  std::string memory_name(size_t kernel, const sim::Memory& memory, const BoundArguments& bound) const;

  SimTarget target_;
  ir::Program lowered_;
  codegen::CudaModule module_;
  std::string tiles_;
  codegen::StandaloneSource standalone_;
  std::shared_ptr<LoadedModule> loaded_;
  std::vector<sim::Code> kernels_;
};

}  // namespace tilewright
