// `tw plot`: where the elements of a kernel's tiles lie.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_status.h"

void add_plot_command(CLI::App& app, ExitStatus& status);
