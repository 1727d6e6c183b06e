// Texts that are damaged in every way: each is refused with its position, or is a program for which everything holds.
#include "robustness/mutation.h"
#include "robustness/program_check.h"

#include <tilewright/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright::robustness {
namespace {

constexpr int kMaxReports = 5;
constexpr int64_t kProgramsPerCompilation = 100;

TEST(Parse, WholeTexts) {
  Runs runs;
  Random random(first_seed());
  for (const std::string& text : corpus()) {
    begin_case("a text of the corpus", text);
    EXPECT_EQ(check_program(parse_program(text, "corpus.tw"), text, random, false, runs), "") << text;
  }
  EXPECT_EQ(runs.finish(), std::vector<std::string>());
  EXPECT_GE(runs.tally().programs, 50);
}

std::string check_text(const std::string& text, uint64_t seed, Random& random, Runs& runs) {
  std::optional<Program> program;
  try {
    program = parse_program(text, "damaged.tw");
  } catch (const std::exception& e) {
    ++runs.tally().refused;
    return check_refusal(e, true);
  }
  const bool compiled = runs.tally().programs % kProgramsPerCompilation == 30;
  return check_program(*program, fmt::format("seed {}", seed), random, compiled, runs);
}

TEST(Parse, DamagedTexts) {
  const std::vector<std::string> texts = corpus();
  const Deadline deadline(seconds(10) / 2);
  Runs runs;
  const Tally& tally = runs.tally();
  int failures = 0;
  for (uint64_t seed = first_seed(); !deadline.passed() && failures < kMaxReports; ++seed) {
    Random random(seed);
    const std::string text = mutate(random.pick(texts), texts, random);
    ++runs.tally().cases;
    begin_case(fmt::format("damaged text, seed {}", seed), text);
    const std::string wrong = check_text(text, seed, random, runs);
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << "TILEWRIGHT_FUZZ_SEED=" << seed << ": " << wrong.substr(0, 3000) << "\n" << text.substr(0, 6000);
  }
  EXPECT_EQ(runs.finish(), std::vector<std::string>());
  fmt::print("{}\n", tally.text());
  EXPECT_GE(tally.refused, 100);
  EXPECT_GE(tally.programs, 20) << "mutations that leave programs";
}

}  // namespace
}  // namespace tilewright::robustness
