#include <tilewright/check.h>

#include "driver/compiled_kernel.h"
#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace tilewright {

namespace {

// Around each tensor; larger than what an index that is off by a tile misses it by.
constexpr size_t kRedZoneBytes = 64 << 10;
constexpr size_t kAlignment = 256;
// NaN, and -1.
constexpr int kPoison = 0xff;

// A copy of memory that nothing else lies beside.
class GuardedCopy {
 public:
  // The copy keeps the original's distance from a multiple of 16 bytes, which decides between variants of a kernel.
  explicit GuardedCopy(AddressRange original) : original_(original), offset_(kRedZoneBytes + original.begin % 16) {
    memory_.reset(static_cast<unsigned char*>(::operator new(size(), std::align_val_t(kAlignment), std::nothrow)));
    if (memory_) return;
    throw invalid_argument("a copy of {} bytes of a tensor is more than this machine has", original.num_bytes())
        .hint("check smaller extents: the schedules are the same");
  }

  void renew() {
    std::memset(memory_.get(), kPoison, size());
    const size_t bytes = original_.num_bytes();
    if (bytes > 0) std::memcpy(memory_.get() + offset_, reinterpret_cast<const void*>(original_.begin), bytes);
  }
  // Where the copy has what lies at an address of the original.
  void* at(uintptr_t address) const { return memory_.get() + offset_ + (address - original_.begin); }
  std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(memory_.get() + offset_), original_.num_bytes());
  }

 private:
  struct Free {
    void operator()(unsigned char* p) const { ::operator delete(p, std::align_val_t(kAlignment)); }
  };
  size_t size() const { return 2 * kRedZoneBytes + original_.num_bytes() + kAlignment; }

  AddressRange original_;
  size_t offset_;
  std::unique_ptr<unsigned char, Free> memory_;
};

// Copies of the tensors among the arguments. Tensors that overlap share one.
class GuardedArguments {
 public:
  // `original`: the launch of the arguments as they are, which is known to be one.
  GuardedArguments(std::vector<Argument> arguments, const Launch::Impl& original) : arguments_(std::move(arguments)) {
    const ir::Program& program = original.kernel->program;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (!program.params[i].is_tensor) continue;
      const auto row = size_t(program.params[i].index);
      tensors_.push_back({.argument = i,
                          .address = reinterpret_cast<uintptr_t>(original.bound.tensors[row].data),
                          .range = range_of(original.bound.tensors[row], program.tensors[row].dtype)});
    }
    make_copies();
  }

  // The arguments with fresh copies.
  std::vector<Argument> renew() {
    for (GuardedCopy& copy : copies_) copy.renew();
    for (const Tensor& t : tensors_) std::get<TensorView>(arguments_[t.argument]).data = copies_[t.copy].at(t.address);
    return arguments_;
  }
  std::vector<std::string> bytes() const {
    std::vector<std::string> out;
    for (const GuardedCopy& copy : copies_) out.push_back(copy.bytes());
    return out;
  }

 private:
  struct Tensor {
    size_t argument;
    uintptr_t address;  // of the original's element 0, 0, ...
    AddressRange range;
    size_t copy = 0;
  };

  void make_copies() {
    std::sort(tensors_.begin(), tensors_.end(),
              [](const Tensor& a, const Tensor& b) { return a.range.begin < b.range.begin; });
    // Those without elements, which begin nowhere, are first.
    std::vector<AddressRange> ranges;
    for (Tensor& t : tensors_) {
      const bool empty = t.range.num_bytes() == 0;
      if (empty || ranges.empty() || ranges.back().num_bytes() == 0 || t.range.begin >= ranges.back().end)
        ranges.push_back(empty ? AddressRange{t.address, t.address} : t.range);
      else
        ranges.back().end = std::max(ranges.back().end, t.range.end);
      t.copy = ranges.size() - 1;
    }
    for (const AddressRange& range : ranges) copies_.emplace_back(range);
  }

  std::vector<Argument> arguments_;
  std::vector<Tensor> tensors_;
  std::vector<GuardedCopy> copies_;
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
  CheckResult out;
  SimTarget target = sim_target_from_name("sim:" + options.arch);
  target.checked = true;
  const CompiledKernel kernel = compile(program, {.target = target.name()});
  // Refuses what does not fit before anything of it is read.
  const Launch original = kernel.bind_arguments(arguments);
  GuardedArguments guarded(std::move(arguments), original.impl());
  std::vector<std::string> first;
  for (const SimAdversary& adversary : adversaries(options)) {
    target.adversary = adversary;
    CheckRun run{.target = target.name(), .findings = {}, .same_result = true};
    CountedLines counted;
    const bool counts = options.count && out.runs.empty();
    run.findings = kernel.bind_arguments(guarded.renew())
                       .impl()
                       .launch->watch(target, int64_t(kRedZoneBytes), counts ? &counted : nullptr);
    if (counts) {
      out.lines = std::move(counted.lines);
      out.not_counted = std::move(counted.refused);
    }
    std::vector<std::string> results = guarded.bytes();
    if (out.runs.empty())
      first = std::move(results);
    else
      run.same_result = results == first;
    out.runs.push_back(std::move(run));
  }
  return out;
}

}  // namespace tilewright
