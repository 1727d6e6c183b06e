#include "passes/pass_runner.h"

#include "ir/verify.h"
#include "support/error.h"

namespace tilewright::passes {

namespace {

#ifdef TILEWRIGHT_CHECKS
constexpr bool kChecks = true;
#else
constexpr bool kChecks = false;
#endif

}  // namespace

void PassRunner::finish(const char* name, double milliseconds) {
  if constexpr (kChecks) {
    try {
      ir::verify_structure(program_);
    } catch (const Error& e) {
      throw internal_error(e.loc(), "after {}: {}", name, e.message());
    }
  }
  if (on_pass_) on_pass_(name, program_, milliseconds);
}

}  // namespace tilewright::passes
