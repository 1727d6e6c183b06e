// `tw demo`: the quickstart kernel on a device, checked and timed.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_status.h"

void add_demo_command(CLI::App& app, ExitStatus& status);
