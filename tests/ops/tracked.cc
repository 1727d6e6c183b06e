#include "ops/tracked.h"

#include "ir/verify.h"
#include "runtime/interp/interp.h"

#include <fmt/format.h>

#include <cmath>

namespace tilewright::tests {

Tracked interpret_tracked(const Program& program, const Args& args, std::string* printed) {
  Tracked out{.after = args, .bounds = {}};
  ir::verify(program.ir());
  InterpOptions options{.track_error = true};
  options.on_print = [printed](std::string_view text) {
    if (printed != nullptr) *printed += text;
  };
  const InterpResult result = interpret(program.ir(), views(out.after), options);
  for (size_t i = 0; i < args.size(); ++i) out.bounds.push_back(result.bounds(int(i)));
  return out;
}

std::string difference(const Tracked& want, const Args& got) {
  for (size_t i = 0; i < got.size(); ++i) {
    const auto* found = std::get_if<HostArray>(&got[i]);
    if (found == nullptr) continue;
    if (!found->surroundings_intact()) return fmt::format("argument {}: bytes outside the tensor were written", i);
    Expected expected{.value = array(want.after, i).values(), .bound = {}};
    expected.bound.assign(want.bounds[i].begin(), want.bounds[i].end());
    const std::string text = difference(*found, expected);
    if (!text.empty()) return fmt::format("argument {}{}", i, text);
  }
  return {};
}

}  // namespace tilewright::tests
