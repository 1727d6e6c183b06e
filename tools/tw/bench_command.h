// `tw bench`: runs a benchmark by name.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_status.h"

void add_bench_command(CLI::App& app, ExitStatus& status);
