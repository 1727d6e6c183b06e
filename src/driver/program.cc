#include <tilewright/program.h>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ops/ops.h"

namespace tilewright {

const std::string& Program::name() const { return ir_->name; }
std::string Program::print() const { return ir::print(*ir_); }

Program parse_program(const std::string& text, const std::string& file_name) {
  auto program = std::make_shared<const ir::Program>(ir::parse(text, file_name, ops::all_ops()));
  ir::verify(*program);
  ir::verify_authored(*program);
  return Program(std::move(program));
}

}  // namespace tilewright
