// A program as a value: what the language builds and the compiler takes.
#pragma once

#include <memory>
#include <string>

namespace tilewright {

namespace ir {
struct Program;
}

// An immutable sequence of kernels over tensors, scalars and workspaces. Copies share the program.
class Program {
 public:
  explicit Program(std::shared_ptr<const ir::Program> ir) : ir_(std::move(ir)) {}

  const std::string& name() const;
  // The text form, which `parse_program` reads back and the command line takes as a KERNEL.
  std::string print() const;
  const ir::Program& ir() const { return *ir_; }

 private:
  std::shared_ptr<const ir::Program> ir_;
};

// Reads the text form. Throws Error{invalid_kernel} with line and column of `file_name`.
Program parse_program(const std::string& text, const std::string& file_name);

}  // namespace tilewright
