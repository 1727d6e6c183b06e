#include "print_command.h"

#include "kernel_argument.h"

#include <tilewright/compile.h>

#include <fmt/format.h>

#include <memory>
#include <string>

void add_print_command(CLI::App& app, ExitStatus&) {
  CLI::App* command = app.add_subcommand("print", "Print a kernel as text, or the source generated for it");
  struct Options {
    std::string kernel, target = "auto";
    bool source = false, report = false;
  };
  auto options = std::make_shared<Options>();
  command->add_option("KERNEL", options->kernel, "a printed-program file, or an example's name")->required();
  CLI::Option* source = command->add_flag("--source", options->source, "the generated source instead");
  command->add_flag("--report", options->report, "target, tiles and remarks instead")->excludes(source);
  command->add_option("--target", options->target, "what to generate for")->capture_default_str();
  command->callback([options] {
    const tilewright::Program program = tw::load_kernel(options->kernel);
    if (!options->source && !options->report) {
      fmt::print("{}", program.print());
      return;
    }
    const tilewright::CompiledKernel kernel = tilewright::compile(program, {.target = options->target});
    if (options->source) fmt::print("{}", kernel.get_kernel_source());
    if (options->report) fmt::print("{}", kernel.report());
  });
}
