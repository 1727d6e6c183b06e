#include "ir/simplify.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "support/error.h"

namespace tilewright::passes {

namespace {

#ifdef TILEWRIGHT_CHECKS
constexpr bool kChecks = true;
#else
constexpr bool kChecks = false;
#endif

// What `pass` gave, verified where internal checks are built in.
ir::Program checked(ir::Program program, const char* pass) {
  if constexpr (kChecks) {
    try {
      ir::verify_structure(program);
    } catch (const Error& e) {
      throw internal_error(e.loc(), "after {}: {}", pass, e.message());
    }
  }
  return program;
}

}  // namespace

ir::Program cpu_pipeline(const ir::Program& program, const CpuTarget& target, std::vector<Remark>& remarks) {
  remark_grids(program, remarks);
  // Constant conditions and single-iteration loops go first, so that copies see plain regions.
  ir::Program p = checked(ir::simplify(program), "simplify");
  // Leading dimensions decide which atoms fit.
  p = checked(plan_cpu_tiles(std::move(p)), "plan_cpu_tiles");
  // While ops are whole: afterwards only loops are left.
  p = checked(lower_cpu(p, target, remarks), "lower_cpu");
  // Needs every element access to be visible, and block indices with their ranges.
  p = checked(guard_accesses(p), "guard_accesses");
  // Conditions that the facts of a branch decide.
  p = checked(ir::simplify(p), "the second simplify");
  // Last: it hides the ranges of block indices.
  return checked(map_grid_cpu(p, program), "map_grid_cpu");
}

}  // namespace tilewright::passes
