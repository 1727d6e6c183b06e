// `tw doctor`: what works on this machine.
#pragma once

#include <CLI/CLI.hpp>

#include "exit_status.h"

void add_doctor_command(CLI::App& app, ExitStatus& status);
