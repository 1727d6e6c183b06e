#include "check_command.h"

#include "kernel_argument.h"
#include "ir/kernel.h"
#include "runtime/bind.h"
#include "target/dtype.h"

#include <tilewright/check.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace tilewright;

struct CheckCommand {
  std::string kernel, arch = "sm_80";
  int64_t extent = 33;
  int num_random = 2;
  uint64_t seed = 1;
  int most_lines = 10;
  bool generated = false;
  bool json = false;
};

// Arguments that fit a program: floats of N(0, 1), integers from 0 to 3, which are indices of most tensors.
class Inputs {
 public:
  Inputs(const ir::Program& program, int64_t extent) : scalars_(program.scalars.size()), random_(1) {
    for (std::optional<ScalarValue>& s : scalars_) s = ScalarValue{.i = extent, .f = double(extent)};
    for (const ir::Param& param : program.params) {
      if (param.is_tensor)
        add(program.tensors[size_t(param.index)]);
      else
        add(program.scalars[size_t(param.index)], extent);
    }
  }
  const std::vector<Argument>& arguments() const { return arguments_; }

 private:
  void add(const ir::Scalar& scalar, int64_t extent) {
    if (is_float(scalar.var.dtype()))
      arguments_.emplace_back(double(extent));
    else
      arguments_.emplace_back(extent);
  }
  void add(const ir::Tensor& tensor) {
    TensorView view{.dtype = tensor.dtype, .shape = {}};
    const std::vector<ir::Expr> strides = ir::strides_of(tensor);
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      view.shape.push_back(evaluate(tensor.shape[d], scalars_));
      view.strides.push_back(evaluate(strides[d], scalars_));
    }
    // Of a tensor that begins at address 0: where it begins in its memory follows.
    const AddressRange range = range_of({.data = nullptr, .shape = view.shape, .strides = view.strides}, tensor.dtype);
    std::vector<unsigned char>& bytes = memory_.emplace_back(range.num_bytes());
    std::normal_distribution<double> normal;
    for (size_t i = 0; i < bytes.size(); i += size_t(bytes_of(tensor.dtype))) {
      unsigned char* const at = bytes.data() + i;
      if (is_float(tensor.dtype))
        store_float(tensor.dtype, at, normal(random_));
      else
        store_int(tensor.dtype, at, int64_t(random_() % (tensor.dtype == DType::boolean ? 2 : 4)));
    }
    view.data = bytes.data() - int64_t(range.begin);
    arguments_.emplace_back(view);
  }

  ScalarValues scalars_;
  std::mt19937_64 random_;
  std::vector<std::vector<unsigned char>> memory_;
  std::vector<Argument> arguments_;
};

nlohmann::ordered_json to_json(const Counters& c) {
  const auto level = [](const Counters::Level& l, const char* transactions) {
    return nlohmann::ordered_json{{"requests", l.requests},
                                  {transactions, l.transactions},
                                  {"ideal", l.ideal},
                                  {"read_bytes", l.read_bytes},
                                  {"written_bytes", l.written_bytes}};
  };
  nlohmann::ordered_json copied = nlohmann::ordered_json::object(), in_flight = nlohmann::ordered_json::array();
  for (const auto& [width, bytes] : c.copied_bytes) copied[fmt::to_string(width)] = bytes;
  for (const auto& [meanwhile, mma] : c.mma_with) {
    in_flight.push_back({{"groups", meanwhile.groups}, {"bytes", meanwhile.bytes}, {"mma", mma}});
  }
  return {{"global", level(c.global, "sectors")},
          {"shared", level(c.shared, "wavefronts")},
          {"copied_bytes", copied},
          {"mma", c.mma},
          {"flops", c.flops},
          {"mma_with", in_flight},
          {"barriers", c.barriers},
          {"atomics", c.atomics}};
}

nlohmann::ordered_json to_json(const std::vector<LineCounters>& lines) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const LineCounters& line : lines) {
    nlohmann::ordered_json entry = {{"kernel", line.kernel}, {"at", line.loc.known() ? line.loc.to_string() : ""}};
    if (!line.text.empty()) {
      entry["line"] = line.line;
      entry["text"] = line.text;
    }
    entry["counters"] = to_json(line.counters);
    out.push_back(std::move(entry));
  }
  return out;
}

nlohmann::ordered_json to_json(const CheckResult& result) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const CheckRun& run : result.runs) {
    nlohmann::ordered_json findings = nlohmann::ordered_json::array();
    for (const Error& error : run.findings) {
      nlohmann::ordered_json notes = nlohmann::ordered_json::array();
      for (const Note& note : error.notes()) {
        notes.push_back({{"text", note.text}, {"at", note.loc.known() ? note.loc.to_string() : ""}});
      }
      findings.push_back(
          {{"message", error.message()}, {"at", error.loc().known() ? error.loc().to_string() : ""}, {"notes", notes}});
    }
    runs.push_back({{"target", run.target}, {"same_result", run.same_result}, {"findings", findings}});
  }
  nlohmann::ordered_json counters = {{"not_counted", result.not_counted}};
  if (result.not_counted.empty()) {
    counters = {{"total", to_json(result.total())},
                {"author_lines", to_json(result.author_lines())},
                {"generated_lines", to_json(result.lines)}};
  }
  return {{"ok", result.ok()}, {"runs", runs}, {"counters", counters}};
}

ExitStatus run_check(const CheckCommand& o) {
  const Program program = tw::load_kernel(o.kernel, true);
  const Inputs inputs(program.ir(), o.extent);
  const CheckResult result =
      check(program, inputs.arguments(), {.arch = o.arch, .num_random = o.num_random, .seed = o.seed, .count = true});
  if (o.json) {
    fmt::print("{}\n", to_json(result).dump());
  } else {
    for (const CheckRun& run : result.runs) {
      fmt::print("{:<44} {}\n", run.target,
                 !run.findings.empty() ? fmt::format("{} findings", run.findings.size())
                 : run.same_result     ? "right"
                                       : "a result of its own");
    }
    fmt::print("{}", result.counter_table(o.most_lines, o.generated));
    fmt::print("{}{}\n", result.report(), result.ok() ? "nothing is wrong" : "WRONG");
  }
  return result.ok() ? ExitStatus::success : ExitStatus::wrong;
}

}  // namespace

void add_check_command(CLI::App& app, ExitStatus& status) {
  CLI::App* command =
      app.add_subcommand("check", "Run a kernel on the simulated GPU under several schedules and watch every access");
  auto options = std::make_shared<CheckCommand>();
  command->add_option("KERNEL", options->kernel, "a printed-program file, or an example's name")->required();
  command->add_option("--arch", options->arch, "the simulated architecture")->capture_default_str();
  command->add_option("--extent", options->extent, "the value of every dynamic extent and scalar")
      ->capture_default_str();
  command->add_option("--random", options->num_random, "schedules that are drawn, beside the three fixed ones")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the first schedule that is drawn")->capture_default_str();
  command->add_option("--lines", options->most_lines, "the most lines in the table of counters")->capture_default_str();
  command->add_flag("--generated", options->generated, "lines of the generated text in that table");
  command->add_flag("--json", options->json, "one JSON object on standard output");
  command->callback([options, &status] { status = run_check(*options); });
}
