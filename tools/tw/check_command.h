// `tw check`: a kernel on the simulated GPU.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_status.h"

void add_check_command(CLI::App& app, ExitStatus& status);
