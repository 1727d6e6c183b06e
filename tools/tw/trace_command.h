// `tw trace`: what each pass of the compiler makes of a kernel.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_status.h"

void add_trace_command(CLI::App& app, ExitStatus& status);
