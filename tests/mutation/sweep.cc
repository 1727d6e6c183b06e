#include "mutation/sweep.h"

#include "mutation/equivalents.h"
#include "mutation/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>

namespace tilewright::mutation {

namespace {

constexpr std::array kSchedules = {"fair+late",          "greedy+late",           "reverse+early",
                                   "fair+early",         "random+anytime+seed=1", "random+anytime+seed=2",
                                   "random+late+seed=3", "random+anytime+seed=4"};
constexpr size_t kMutantsAtOnce = 12;  // in one compilation
constexpr auto kLimit = std::chrono::seconds(60);

struct Work {
  const Subject* subject = nullptr;
  std::vector<size_t> fates;
};

// "report\nschedules\ntext"
std::string examine(const Subject& subject, const sim::Module& module,
                    const std::vector<std::vector<std::string>>& right, int variant, size_t kernel) {
  int schedules = 0;
  for (const char* how : kSchedules) {
    const size_t launch = size_t(schedules++) % subject.num_launches();
    Outcome outcome = subject.run(module, launch, how, variant, kernel);
    if (outcome.report.empty() && outcome.results != right[launch]) outcome.report = "wrong value";
    if (!outcome.report.empty()) return fmt::format("{}\n{}\n{}", outcome.report, schedules, outcome.text);
  }
  return fmt::format("\n{}\n", schedules);
}

void read_answer(const Answer& answer, Fate& fate) {
  if (answer.state != Answer::State::done) {
    fate.report = answer.state == Answer::State::hung ? "hang" : "crash";
    return;
  }
  const size_t first = answer.text.find('\n'), second = answer.text.find('\n', first + 1);
  fate.report = answer.text.substr(0, first);
  fate.schedules = std::stoi(answer.text.substr(first + 1));
  fate.text = answer.text.substr(second + 1);
}

bool is_chosen(const Subject& subject, const SweepOptions& options) {
  return subject.name().find(options.only) != std::string::npos;
}

std::vector<Answer> run_work(const Work& work, const std::vector<Fate>& fates) {
  const Subject& subject = *work.subject;
  std::vector<Subject::Variant> variants;
  for (const size_t i : work.fates) {
    const Fate& fate = fates[i];
    variants.push_back({fate.kernel, fate.mutant.applied_to(subject.kernel_text(fate.kernel))});
  }
  const auto module = subject.compile(variants);
  std::vector<std::vector<std::string>> right;
  return one_by_one(variants.size(), kLimit, [&](size_t v) {
    while (right.size() < subject.num_launches()) {
      const Outcome unchanged = subject.run(*module, right.size(), kSchedules[0]);
      if (!unchanged.report.empty()) throw std::runtime_error(subject.name() + ": " + unchanged.text);
      right.push_back(unchanged.results);
    }
    return examine(subject, *module, right, int(v), variants[v].kernel);
  });
}

std::string packed(const std::vector<Answer>& answers) {
  std::string out;
  for (const Answer& a : answers) out += fmt::format("{} {}\n{}", int(a.state), a.text.size(), a.text);
  return out;
}
std::vector<Answer> unpacked(const std::string& text) {
  std::vector<Answer> out;
  for (size_t at = 0; at < text.size();) {
    const size_t space = text.find(' ', at), line = text.find('\n', at);
    const size_t bytes = std::stoul(text.substr(space + 1));
    out.push_back({Answer::State(std::stoi(text.substr(at))), text.substr(line + 1, bytes)});
    at = line + 1 + bytes;
  }
  return out;
}

std::string line_of(const Fate& f) {
  return fmt::format("{}, kernel {}, line {}: {} {}: {}", f.subject, f.kernel, f.mutant.line, name_of(f.mutant.kind),
                     f.mutant.change, f.mutant.place);
}

}  // namespace

std::vector<Fate> sweep(const std::vector<Subject>& subjects, const SweepOptions& options) {
  std::vector<Fate> fates;
  std::vector<Work> works;
  for (const Subject& subject : subjects) {
    if (!is_chosen(subject, options)) continue;
    Work work{.subject = &subject, .fates = {}};
    for (size_t k = 0; k < subject.num_kernels(); ++k) {
      for (Mutant& mutant : mutants_of(subject.kernel_text(k))) {
        if (!options.kind.empty() && name_of(mutant.kind) != options.kind) continue;
        work.fates.push_back(fates.size());
        fates.push_back({.subject = subject.name(), .kernel = k, .mutant = std::move(mutant)});
        if (work.fates.size() == kMutantsAtOnce) works.push_back(std::exchange(work, {&subject, {}}));
      }
    }
    if (!work.fates.empty()) works.push_back(work);
  }
  const auto results = in_processes(works.size(), options.jobs, [&](size_t i) {
    if (options.verbose) std::fprintf(stderr, "%zu of %zu: %s\n", i, works.size(), works[i].subject->name().c_str());
    return packed(run_work(works[i], fates));
  });
  for (size_t i = 0; i < works.size(); ++i) {
    const std::vector<Answer> answers = unpacked(results[i]);
    for (size_t v = 0; v < answers.size(); ++v) read_answer(answers[v], fates[works[i].fates[v]]);
  }
  for (Fate& fate : fates) {
    if (!fate.noticed()) fate.equivalent = why_equivalent(fate.subject, fate.mutant);
    if (options.verbose) {
      std::fprintf(stderr, "%-14s %d  %s\n                  %s\n", fate.report.c_str(), fate.schedules,
                   line_of(fate).c_str(), fate.text.c_str());
    }
  }
  return fates;
}

std::vector<std::string> reports_without_change(const std::vector<Subject>& subjects, int num_schedules,
                                                const SweepOptions& options) {
  std::vector<const Subject*> chosen;
  for (const Subject& subject : subjects) {
    if (is_chosen(subject, options)) chosen.push_back(&subject);
  }
  static constexpr std::array kOrders = {"fair", "greedy", "reverse", "random"};
  static constexpr std::array kTimes = {"late", "early", "anytime"};
  const auto results = in_processes(chosen.size(), options.jobs, [&](size_t s) {
    const auto module = chosen[s]->compile({});
    std::vector<std::vector<std::string>> right(chosen[s]->num_launches());
    std::string out;
    for (int i = 0; i < num_schedules; ++i) {
      const size_t launch = size_t(i) % right.size();
      const std::string how = fmt::format("{}+{}+seed={}", kOrders[size_t(i) % 4], kTimes[size_t(i) / 4 % 3], i + 1);
      Outcome outcome = chosen[s]->run(*module, launch, how);
      if (right[launch].empty()) right[launch] = outcome.results;
      if (outcome.report.empty() && outcome.results != right[launch]) outcome.report = "wrong value";
      if (outcome.report.empty()) continue;
      out += fmt::format("{}, {}: {}: {}\n", chosen[s]->name(), how, outcome.report, outcome.text);
    }
    return out;
  });
  std::vector<std::string> out;
  for (const std::string& lines : results) {
    for (size_t at = 0; at < lines.size();) {
      const size_t end = lines.find('\n', at);
      out.push_back(lines.substr(at, end - at));
      at = end + 1;
    }
  }
  return out;
}

std::vector<std::string> shortcomings(const std::vector<Fate>& fates) {
  std::vector<std::string> out;
  for (int kind = 0; kind < kNumKinds; ++kind) {
    int64_t mutants = 0, equivalent = 0;
    for (const Fate& f : fates) {
      if (f.mutant.kind != Kind(kind)) continue;
      ++mutants;
      equivalent += !f.noticed() && !f.missed();
      if (f.missed()) out.push_back("missed: " + line_of(f));
    }
    if (mutants < 10) out.push_back(fmt::format("{}: {} mutants", name_of(Kind(kind)), mutants));
    if (20 * equivalent > mutants) {
      out.push_back(fmt::format("{}: {} of {} mutants are equivalent", name_of(Kind(kind)), equivalent, mutants));
    }
  }
  return out;
}

std::string table_of(const std::vector<Fate>& fates) {
  static constexpr std::array kReports = {"race",          "deadlock", "wrong value", "outside",
                                          "uninitialised", "misuse",   "failed check"};
  std::string out = fmt::format("{:8} {:>8}", "kind", "mutants");
  for (const char* report : kReports) out += fmt::format(" {:>13}", report);
  out += fmt::format(" {:>11} {:>7}\n", "equivalent", "missed");
  for (int kind = 0; kind <= kNumKinds; ++kind) {
    std::map<std::string, int> count;
    for (const Fate& f : fates) {
      if (kind < kNumKinds && f.mutant.kind != Kind(kind)) continue;
      ++count["mutants"];
      ++count[f.missed() ? "missed" : f.noticed() ? f.report : "equivalent"];
    }
    if (count["mutants"] == 0) continue;
    out += fmt::format("{:8} {:8}", kind < kNumKinds ? name_of(Kind(kind)) : "all", count["mutants"]);
    for (const char* report : kReports) out += fmt::format(" {:13}", count[report]);
    out += fmt::format(" {:11} {:7}\n", count["equivalent"], count["missed"]);
  }
  std::map<std::string, std::vector<std::string>> equivalent;
  for (const Fate& f : fates) {
    if (!f.noticed() && !f.missed()) equivalent[f.equivalent].push_back(line_of(f));
  }
  for (const auto& [why, lines] : equivalent) {
    out += "equivalent: " + why + "\n";
    for (const std::string& line : lines) out += "  " + line + "\n";
  }
  return out;
}

}  // namespace tilewright::mutation
