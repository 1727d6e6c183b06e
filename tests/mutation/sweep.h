// Runs mutants, each in a process that may hang or crash, and says who noticed.
#pragma once

#include "mutation/mutants.h"
#include "mutation/subjects.h"

#include <string>
#include <vector>

namespace tilewright::mutation {

// What became of one mutant.
struct Fate {
  std::string subject;
  size_t kernel = 0;
  Mutant mutant;
  std::string report =
      {};  // race, ..., "wrong value"; empty: nobody noticed; "crash" and "hang": the simulator itself did
  std::string text = {};
  int schedules = 0;            // until it was noticed
  std::string equivalent = {};  // why nobody can notice it; empty: it is none

  bool noticed() const { return !report.empty() && report != "crash" && report != "hang"; }
  bool missed() const { return !noticed() && equivalent.empty(); }
};

struct SweepOptions {
  int jobs = 1;
  std::string only = {};  // subjects whose name contains this
  std::string kind = {};  // mutants of this kind; empty: of all
  bool verbose = false;   // each mutant, as it comes
};

// At most 8 schedules for each mutant.
std::vector<Fate> sweep(const std::vector<Subject>& subjects, const SweepOptions& options);

// What is reported of kernels without a change: "subject, schedule: report" each.
std::vector<std::string> reports_without_change(const std::vector<Subject>& subjects, int num_schedules,
                                                const SweepOptions& options);

// What keeps a full run from saying that the simulator notices such mistakes: missed mutants, kinds with fewer than 10
// mutants or more than 5 % that are equivalent. One line each.
std::vector<std::string> shortcomings(const std::vector<Fate>& fates);

// One row for each kind: mutants, by what they were noticed, equivalent, missed; then the equivalent and missed ones.
std::string table_of(const std::vector<Fate>& fates);

}  // namespace tilewright::mutation
