// A compilation, watched pass by pass.
#pragma once

#include <tilewright/program.h>

#include <functional>
#include <string>

namespace tilewright {

struct PassStep {
  std::string name;         // of the pass; the first step is "authored", the last one "source"
  std::string text;         // the program behind the pass as `print` gives it; of "source" what is generated
  bool changed = true;      // whether the text differs from that of the step before
  double milliseconds = 0;  // of the pass alone, without printing
};

using PassHook = std::function<void(const PassStep&)>;

// Compiles `program` up to the generated source, which is not compiled further, and calls `on_pass` after each pass.
// `target` as for compile(); CPU levels and GPU architectures that this machine lacks are fine. Throws what compile()
// throws up to there; the passes before have been reported then.
void trace_passes(const Program& program, const std::string& target, const PassHook& on_pass);

}  // namespace tilewright
