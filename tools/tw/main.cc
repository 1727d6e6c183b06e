// The command line of Tilewright. Each subcommand lives in <name>_command.{h,cc} and is a row of kCommands.
#include <fmt/format.h>
#include <tilewright/error.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string_view>

#include "bench_command.h"
#include "check_command.h"
#include "demo_command.h"
#include "doctor_command.h"
#include "exit_status.h"
#include "plot_command.h"
#include "print_command.h"
#include "test_command.h"
#include "trace_command.h"

namespace {

// Adds one subcommand to `app`. Its callback sets `status`; an exception it throws ends `tw` with the status of its
// kind.
using AddCommand = void (*)(CLI::App& app, ExitStatus& status);

constexpr AddCommand kCommands[] = {
    add_demo_command,   add_check_command, add_test_command,  add_bench_command,
    add_doctor_command, add_print_command, add_trace_command, add_plot_command,
};

ExitStatus status_of(tilewright::ErrorKind kind) {
  switch (kind) {
    case tilewright::ErrorKind::invalid_kernel:
    case tilewright::ErrorKind::invalid_argument:
    case tilewright::ErrorKind::unsupported: return ExitStatus::refused;
    case tilewright::ErrorKind::toolchain: return ExitStatus::toolchain;
    case tilewright::ErrorKind::internal: return ExitStatus::wrong;
  }
  return ExitStatus::wrong;
}

bool has_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return true;
  }
  return false;
}

ExitStatus run(int argc, char** argv) {
  ExitStatus status = ExitStatus::success;
  CLI::App app{"Tilewright: a tile-level kernel language and compiler.", "tw"};
  app.require_subcommand(1);
  for (AddCommand add_command : kCommands) add_command(app, status);
  if (argc > 1 && argv[1][0] != '-' && !has_command(app, argv[1])) {
    fmt::print(stderr, "error: there is no command '{}'\n  hint: tw --help lists the commands\n", argv[1]);
    return ExitStatus::refused;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return ExitStatus::refused;
  } catch (const tilewright::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return status_of(error.kind());
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return ExitStatus::wrong;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) { return static_cast<int>(run(argc, argv)); }
