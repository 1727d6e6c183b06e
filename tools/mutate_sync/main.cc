// Whether the simulator notices mistakes of synchronisation: removes or weakens, one at a time, every barrier, fence,
// wait, commit, count of bytes, phase and guard of generated kernels, and prints who noticed.
#include "../../tests/mutation/sweep.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char** argv) {
  using namespace tilewright::mutation;
  CLI::App app(
      "Plants mistakes of synchronisation into generated kernels and prints whether the simulator reports them");
  SweepOptions options;
  options.jobs = 2;
  bool unchanged = false, few = false, print = false;
  int schedules = 64;
  app.add_option("--jobs", options.jobs, "processes")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--only", options.only, "kernels whose name contains this");
  app.add_option("--kind", options.kind, "barrier, fence, wait, commit, bytes, arrival, phase or guard");
  app.add_flag("--few", few, "the kernels of the test in tests/mutation");
  app.add_flag("--verbose", options.verbose, "each mutant");
  app.add_flag("--unchanged", unchanged, "runs the kernels as they are instead: nothing may be reported");
  app.add_flag("--print", print, "prints the texts of the kernels");
  app.add_option("--schedules", schedules, "of --unchanged")->check(CLI::Range(1, 100000))->capture_default_str();
  app.footer(
      "Exit status 1: a mutant is missed, a kind of the whole run has fewer than 10 mutants or more than 5 % that are "
      "equivalent, or a kernel without a change is reported.");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto subjects = few ? few_subjects() : all_subjects();
    if (print) {
      for (const Subject& subject : subjects) {
        if (subject.name().find(options.only) == std::string::npos) continue;
        for (size_t k = 0; k < subject.num_kernels(); ++k)
          std::printf("// %s\n%s\n", subject.name().c_str(), subject.kernel_text(k).c_str());
      }
      return 0;
    }
    if (unchanged) {
      const auto reports = reports_without_change(subjects, schedules, options);
      for (const std::string& line : reports) std::printf("%s\n", line.c_str());
      std::printf("%zu reports of %zu kernels over %d schedules\n", reports.size(), subjects.size(), schedules);
      return reports.empty() ? 0 : 1;
    }
    const auto fates = sweep(subjects, options);
    std::printf("%s", table_of(fates).c_str());
    bool failed = false;
    for (const std::string& line : shortcomings(fates)) {
      const bool counts = !few && options.only.empty() && options.kind.empty();
      if (!counts && line.rfind("missed", 0) != 0) continue;
      std::printf("%s\n", line.c_str());
      failed = true;
    }
    return failed ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
