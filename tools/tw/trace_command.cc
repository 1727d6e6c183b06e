#include "trace_command.h"

#include "kernel_argument.h"
#include "text_diff.h"

#include <tilewright/error.h>
#include <tilewright/trace.h>

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>

namespace {

using namespace tilewright;

struct TraceCommand {
  std::string kernel, target = "auto", pass;
  bool diff = false, summary = false;
};

// Prints steps as they come, so that what went before an error is there.
class Printer {
 public:
  explicit Printer(const TraceCommand& command) : command_(command) {}

  void operator()(const PassStep& step) {
    names_.insert(step.name);
    total_ms_ += step.milliseconds;
    if (!command_.pass.empty()) {
      if (step.name == command_.pass) fmt::print("{}", step.text);
      return;
    }
    fmt::print("== {:<20}{:>9.3f} ms{}\n", step.name, step.milliseconds, step.changed ? "" : "   unchanged");
    if (step.changed && !command_.summary) fmt::print("{}\n", body(step));
    std::fflush(stdout);  // an error of the next pass goes to the other stream
    last_text_ = step.text;
  }

  void finish() const {
    if (command_.pass.empty()) {
      fmt::print("in all {:>25.3f} ms\n", total_ms_);
    } else if (!names_.contains(command_.pass)) {
      throw Error(ErrorKind::invalid_argument, fmt::format("there is no pass '{}'", command_.pass))
          .hint(fmt::format("passes for this target: {}", fmt::join(names_, ", ")));
    }
  }

 private:
  // The generated source is another language: nothing of it is the same.
  std::string body(const PassStep& step) const {
    const bool compare = command_.diff && step.name != "authored" && step.name != "source";
    return compare ? tw::line_diff(last_text_, step.text) : step.text;
  }

  const TraceCommand& command_;
  std::set<std::string> names_;
  std::string last_text_;
  double total_ms_ = 0;
};

}  // namespace

void add_trace_command(CLI::App& app, ExitStatus&) {
  CLI::App* command = app.add_subcommand("trace", "Print a kernel after each pass of the compiler, with times");
  auto options = std::make_shared<TraceCommand>();
  command->add_option("KERNEL", options->kernel, "a printed-program file, or an example's name")->required();
  command->add_option("--target", options->target, "what to generate for; no such device is needed")
      ->capture_default_str();
  CLI::Option* pass = command->add_option("--pass", options->pass, "only the text behind this pass");
  command->add_flag("--diff", options->diff, "only the lines that a pass changes")->excludes(pass);
  command->add_flag("--summary", options->summary, "only names and times")->excludes(pass);
  command->callback([options] {
    Printer printer(*options);
    trace_passes(tw::load_kernel(options->kernel), options->target, [&](const PassStep& step) { printer(step); });
    printer.finish();
  });
}
