// `tw test`: runs the test suites found next to the program.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_status.h"

void add_test_command(CLI::App& app, ExitStatus& status);
