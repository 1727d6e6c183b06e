// `tw print`: a kernel as text.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_status.h"

void add_print_command(CLI::App& app, ExitStatus& status);
