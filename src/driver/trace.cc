#include <tilewright/trace.h>

#include "codegen/cpu.h"
#include "codegen/cuda.h"
#include "driver/choose_target.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/cuda_passes.h"
#include "passes/passes.h"
#include "support/error.h"

#include <chrono>
#include <utility>

namespace tilewright {

namespace {

class Tracer {
 public:
  Tracer(const ir::Program& program, const PassHook& on_pass) : program_(program), on_pass_(on_pass) {
    report("authored", ir::print(program), 0);
  }

  void operator()(const CpuTarget& target) {
    std::vector<Remark> remarks;
    const ir::Program lowered = passes::cpu_pipeline(program_, target, remarks, observer());
    emit([&] { return codegen::emit_cpu(lowered, target).annotated; });
  }
  void operator()(const CudaTarget& target) {
    std::vector<Remark> remarks;
    const ir::Program lowered = passes::cuda_pipeline(program_, target, remarks, observer());
    emit([&] { return codegen::emit_cuda(lowered, target).annotated; });
  }
  void operator()(const SimTarget& target) { (*this)(target.cuda); }

 private:
  passes::PassObserver observer() {
    return [this](const char* pass, const ir::Program& program, double milliseconds) {
      report(pass, ir::print(program), milliseconds);
    };
  }
  void report(const char* name, std::string text, double milliseconds) {
    const bool changed = text != last_text_;
    on_pass_({.name = name, .text = text, .changed = changed, .milliseconds = milliseconds});
    last_text_ = std::move(text);
  }
  template <class Emit>
  void emit(const Emit& source) {
    const auto start = std::chrono::steady_clock::now();
    std::string text = source();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    report("source", std::move(text), time.count());
  }

  const ir::Program& program_;
  const PassHook& on_pass_;
  std::string last_text_;
};

}  // namespace

void trace_passes(const Program& program, const std::string& target, const PassHook& on_pass) {
  if (!on_pass) throw invalid_argument("trace_passes without a function that takes the steps");
  const ir::Program& authored = program.ir();
  ir::verify(authored);
  const AnyTarget chosen = choose_target(target, TargetUse::text);
  std::visit(Tracer(authored, on_pass), chosen);
}

}  // namespace tilewright
