#include <tilewright/check.h>

#include "driver/compiled_kernel.h"
#include "driver/session.h"
#include "driver/sim_executable.h"
#include "ir/verify.h"
#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace tilewright {

namespace {

// Around each tensor; larger than what an index that is off by a tile misses it by.
constexpr size_t kRedZoneBytes = 64 << 10;
constexpr size_t kAlignment = 256;
// NaN, and -1.
constexpr int kPoison = 0xff;

// A copy of a tensor's memory that nothing else lies beside.
class GuardedCopy {
 public:
  explicit GuardedCopy(const TensorView& view) : original_(view) {
    int64_t last = view.shape.empty() ? 0 : 1;
    bool empty = false;
    for (const int64_t extent : view.shape) empty = empty || extent == 0;
    if (view.strides.empty()) {
      for (const int64_t extent : view.shape) last *= extent;
      last = std::max<int64_t>(last, 1) - 1;
    } else {
      last = 0;
      for (size_t d = 0; d < view.shape.size(); ++d) last += (view.shape[d] - 1) * view.strides[d];
    }
    num_bytes_ = empty ? 0 : size_t(last + 1) * size_t(bytes_of(view.dtype));
    memory_.reset(static_cast<unsigned char*>(
        ::operator new(2 * kRedZoneBytes + num_bytes_ + kAlignment, std::align_val_t(kAlignment))));
    // The copy keeps the original's distance from a multiple of 16 bytes, which decides between variants of a kernel.
    offset_ = kRedZoneBytes + reinterpret_cast<uintptr_t>(view.data) % 16;
  }

  TensorView fresh() {
    std::memset(memory_.get(), kPoison, 2 * kRedZoneBytes + num_bytes_ + kAlignment);
    if (num_bytes_ > 0) std::memcpy(memory_.get() + offset_, original_.data, num_bytes_);
    TensorView out = original_;
    if (original_.data != nullptr) out.data = memory_.get() + offset_;
    return out;
  }
  std::string bytes() const { return std::string(reinterpret_cast<const char*>(memory_.get() + offset_), num_bytes_); }

 private:
  struct Free {
    void operator()(unsigned char* p) const { ::operator delete(p, std::align_val_t(kAlignment)); }
  };
  TensorView original_;
  size_t num_bytes_ = 0, offset_ = 0;
  std::unique_ptr<unsigned char, Free> memory_;
};

std::vector<SimAdversary> adversaries(const CheckOptions& options) {
  std::vector<SimAdversary> out = {{SimSchedule::fair, SimCompletion::late, 1},
                                   {SimSchedule::greedy, SimCompletion::late, 1},
                                   {SimSchedule::reverse, SimCompletion::early, 1}};
  for (int i = 0; i < options.num_random; ++i) {
    out.push_back({SimSchedule::random, SimCompletion::random, options.seed + uint64_t(i)});
  }
  return out;
}

CompiledKernel compile_checked(const Program& program, const SimTarget& target) {
  auto impl = std::make_shared<CompiledKernel::Impl>();
  impl->program = program.ir();
  ir::verify(impl->program);
  impl->target = target.name();
  impl->executable = make_sim_executable(impl->program, target, {}, impl->remarks, impl->lowered_tiles);
  return CompiledKernel(std::move(impl));
}

}  // namespace

bool CheckResult::ok() const {
  return std::all_of(runs.begin(), runs.end(),
                     [](const CheckRun& run) { return run.findings.empty() && run.same_result; });
}

std::string CheckResult::report() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> findings;
  const auto add = [&](const std::string& text, const std::string& target) {
    const auto same = std::find_if(findings.begin(), findings.end(), [&](const auto& f) { return f.first == text; });
    if (same == findings.end())
      findings.push_back({text, {target}});
    else
      same->second.push_back(target);
  };
  for (const CheckRun& run : runs) {
    for (const Error& error : run.findings) add(error.what(), run.target);
    if (!run.same_result) add("error: the result differs from that of the first run", run.target);
  }
  std::string out;
  for (const auto& [text, targets] : findings) {
    out += fmt::format("{}\n  in {} of {} runs: {}\n", text, targets.size(), runs.size(), fmt::join(targets, ", "));
  }
  return out;
}

CheckResult check(const Program& program, std::vector<Argument> arguments, const CheckOptions& options) {
  if (options.num_random < 0 || options.num_random > 1000) {
    throw invalid_argument("num_random is {}", options.num_random).hint("0 to 1000");
  }
  std::vector<std::unique_ptr<GuardedCopy>> copies(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* view = std::get_if<TensorView>(&arguments[i]);
    if (view && view->device == DeviceKind::cpu) copies[i] = std::make_unique<GuardedCopy>(*view);
  }
  CheckResult out;
  SimTarget target = sim_target_from_name("sim:" + options.arch);
  target.checked = true;
  const CompiledKernel kernel = compile_checked(program, target);
  std::vector<std::string> first;
  for (const SimAdversary& adversary : adversaries(options)) {
    target.adversary = adversary;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (copies[i]) arguments[i] = copies[i]->fresh();
    }
    CheckRun run{.target = target.name(), .findings = {}, .same_result = true};
    run.findings = kernel.bind_arguments(arguments).impl().launch->watch(target, int64_t(kRedZoneBytes));
    std::vector<std::string> results;
    for (const auto& copy : copies) results.push_back(copy ? copy->bytes() : "");
    if (out.runs.empty())
      first = std::move(results);
    else
      run.same_result = results == first;
    out.runs.push_back(std::move(run));
  }
  return out;
}

}  // namespace tilewright
