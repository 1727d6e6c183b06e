#include "target/sim.h"

#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace tilewright {

namespace {

constexpr std::string_view kDefaultArch = "sm_80", kSeed = "seed=";
constexpr std::string_view kSchedules[] = {"fair", "greedy", "reverse", "random"};  // of SimSchedule

// One of the words behind '+'.
bool take_word(std::string_view word, SimTarget& out) {
  const auto* const schedule = std::find(std::begin(kSchedules), std::end(kSchedules), word);
  if (schedule != std::end(kSchedules))
    out.adversary.schedule = SimSchedule(schedule - std::begin(kSchedules));
  else if (word == "checked")
    out.checked = true;
  else if (word == "late")
    out.adversary.completion = SimCompletion::late;
  else if (word == "early")
    out.adversary.completion = SimCompletion::early;
  else if (word == "anytime")
    out.adversary.completion = SimCompletion::random;
  else if (word.starts_with(kSeed)) {
    word.remove_prefix(kSeed.size());
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out.adversary.seed);
    return error == std::errc() && end == word.data() + word.size();
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string SimAdversary::name() const {
  std::string out(kSchedules[size_t(schedule)]);
  if (completion == SimCompletion::early) out += "+early";
  if (completion == SimCompletion::random) out += "+anytime";
  if (schedule == SimSchedule::random || completion == SimCompletion::random) out += fmt::format("+seed={}", seed);
  return out;
}

std::string SimTarget::name() const {
  const std::string how = adversary.name();
  return fmt::format("sim:{}{}{}", cuda.arch(), checked ? "+checked" : "", how == "fair" ? "" : "+" + how);
}

SimTarget sim_target_from_name(std::string_view name) {
  SimTarget out;
  std::string_view rest = name.substr(std::string_view("sim").size());
  if (rest.starts_with(":")) rest.remove_prefix(1);
  const std::string_view arch = rest.substr(0, rest.find('+'));
  rest.remove_prefix(arch.size());
  const auto cuda = cuda_target_from_arch(arch.empty() ? kDefaultArch : arch);
  if (!cuda) {
    throw invalid_argument("'{}' is no architecture of an NVIDIA GPU", arch).hint("for instance sim:sm_80");
  }
  out.cuda = *cuda;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('+'));
    rest.remove_prefix(word.size());
    if (take_word(word, out)) continue;
    throw invalid_argument("'{}' in target '{}' says nothing about the simulator", word, name)
        .hint("checked; fair, greedy, reverse or random; late, early or anytime; seed=NUMBER");
  }
  return out;
}

}  // namespace tilewright
