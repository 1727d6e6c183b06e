#include "bench_command.h"

#include <fmt/format.h>

#include <tilewright/error.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// The benchmarks that were built lie in bench/ beside this program.
fs::path bench_folder() { return fs::read_symlink("/proc/self/exe").parent_path() / "bench"; }

std::vector<std::string> bench_names() {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(bench_folder(), none)) {
    if (entry.is_regular_file() && access(entry.path().c_str(), X_OK) == 0) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Runs the benchmark with this program's standard output and returns its exit status.
int run_bench(const fs::path& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execv(program.c_str(), argv.data());
    _exit(3);
  }
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : 1;
}

}  // namespace

void add_bench_command(CLI::App& app, ExitStatus& status) {
  CLI::App* command = app.add_subcommand("bench", "Run a benchmark against its peers; without a name, list them");
  struct Options {
    std::string name;
    bool json = false, force = false;
  };
  auto options = std::make_shared<Options>();
  command->add_option("NAME", options->name, "the benchmark");
  command->allow_extras();
  command->footer("Other options go to the benchmark, as --seed, --threads, --widths and --ops of cpu_memory.");
  command->add_flag("--json", options->json, "one JSON object a line on standard output");
  command->add_flag("--force", options->force, "measure although the machine is busy");
  command->callback([options, command, &status] {
    const std::vector<std::string> names = bench_names();
    const std::vector<std::string> extras = command->remaining();
    if (options->name.empty()) {
      if (!extras.empty()) {
        throw tilewright::Error(tilewright::ErrorKind::invalid_argument,
                                fmt::format("no benchmark is named before {}", extras[0]))
            .hint("tw bench NAME OPTIONS");
      }
      for (const std::string& name : names) fmt::print("{}\n", name);
      return;
    }
    if (std::find(names.begin(), names.end(), options->name) == names.end()) {
      throw tilewright::Error(tilewright::ErrorKind::invalid_argument,
                              fmt::format("there is no benchmark '{}'", options->name))
          .hint(fmt::format("there are: {}", fmt::join(names, ", ")));
    }
    std::vector<std::string> arguments;
    if (options->json) arguments.push_back("--json");
    if (options->force) arguments.push_back("--force");
    arguments.insert(arguments.end(), extras.begin(), extras.end());
    status = static_cast<ExitStatus>(run_bench(bench_folder() / options->name, arguments));
  });
}
