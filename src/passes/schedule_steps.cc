#include "passes/schedule_steps.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::passes {

using ir::Slot;

namespace {

std::vector<Site> sites_where(const ir::Schedule& schedule, const std::vector<Slot>& slots, auto keep) {
  std::vector<Site> out;
  for (const Slot& slot : slots) {
    const Site site{.slot = slot, .lead = schedule.anchor - slot.stage};
    if (keep(site.lead)) out.push_back(site);
  }
  return out;
}

std::vector<Section> all_sections(const ir::Schedule& schedule, std::vector<Slot> slots) {
  // Older iterations first where orders are equal.
  std::stable_sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
    return std::pair(a.order, -a.stage) < std::pair(b.order, -b.stage);
  });
  std::set<int64_t> leads, lags;
  for (const Slot& slot : slots) {
    const int64_t lead = schedule.anchor - slot.stage;
    if (lead > 0) leads.insert(lead);
    if (lead < 0) lags.insert(-lead);
  }
  std::vector<Section> out;
  for (auto it = leads.rbegin(); it != leads.rend(); ++it) {
    const int64_t end = std::next(it) == leads.rend() ? 0 : -*std::next(it);
    out.push_back({.kind = Section::Kind::prologue, .begin = -*it, .end = end, .sites = {}});
    out.back().sites = sites_where(schedule, slots, [&](int64_t lead) { return lead >= *it; });
  }
  out.push_back({.kind = Section::Kind::steady, .sites = sites_where(schedule, slots, [](int64_t) { return true; })});
  int64_t begin = 0;
  for (int64_t lag : lags) {
    out.push_back({.kind = Section::Kind::epilogue, .begin = begin, .end = lag, .sites = {}});
    out.back().sites = sites_where(schedule, slots, [&](int64_t lead) { return -lead >= lag; });
    begin = lag;
  }
  return out;
}

// What has happened on one path through the sections.
class Path {
 public:
  Path(const ir::Schedule& schedule, std::vector<Section>& sections) : schedule_(schedule), sections_(sections) {}

  // Runs n iterations, numbered from `first_` on.
  void run(int64_t n) {
    for (Section& section : sections_) {
      const bool steady = section.kind == Section::Kind::steady;
      const int64_t from = section.kind == Section::Kind::epilogue ? n : 0;
      for (int64_t u = steady ? 0 : from + section.begin; u < (steady ? n : from + section.end); ++u) {
        for (Site& site : section.sites) {
          const int64_t iteration = u + site.lead;
          step(site, first_ + iteration, iteration >= 0 && iteration < n);
        }
      }
    }
    first_ += n;
  }

 private:
  using Groups = std::map<std::pair<int, int64_t>, int64_t>;  // number of the last group of (channel, iteration)

  void step(Site& site, int64_t iteration, bool runs);
  void note_products(const Site& site, int64_t iteration) {
    for (int c : site.channels_read) products_[{c, iteration}] = num_products_;
    ++num_products_;
  }
  static void keep_least(Site& site, const Groups& groups, std::pair<int, int64_t> key, int64_t closed) {
    const auto it = groups.find(key);
    if (it != groups.end()) site.later = std::min(site.later, closed - 1 - it->second);
  }

  const ir::Schedule& schedule_;
  std::vector<Section>& sections_;
  int64_t first_ = 0;
  Groups copies_, products_;
  int64_t num_copies_ = 0, num_products_ = 0;
  int64_t now_ = 0, last_wait_ = -1;
  std::map<std::pair<int, int64_t>, int64_t> released_;  // when
};

void Path::step(Site& site, int64_t iteration, bool runs) {
  const Slot& slot = site.slot;
  const std::pair<int, int64_t> key = {slot.index, iteration};
  ++now_;
  // Groups of copies are closed whether there are copies in them or not.
  if (site.closes_copies) {
    if (runs) copies_[key] = num_copies_;
    ++num_copies_;
  }
  if (!runs) return;
  switch (slot.kind) {
    case Slot::Kind::op:
      if (site.closes_products) note_products(site, iteration);
      break;
    case Slot::Kind::wait:
      keep_least(site, copies_, key, num_copies_);
      if (site.is_own) last_wait_ = now_;
      break;
    case Slot::Kind::release:
      keep_least(site, products_, key, num_products_);
      released_[key] = now_;
      break;
    case Slot::Kind::acquire: {
      const auto it = released_.find({slot.index, iteration - schedule_.channels[size_t(slot.index)].stages});
      if (it != released_.end() && last_wait_ < it->second) site.separated = false;
      break;
    }
    case Slot::Kind::commit: break;
  }
}

void answer(Site& site, const ir::Schedule& schedule, const StepQuestions& questions) {
  const Slot& slot = site.slot;
  if (slot.kind != Slot::Kind::op) {
    site.is_own = questions.is_own(slot.index);
    site.closes_copies = slot.kind == Slot::Kind::commit && questions.closes_copies(slot);
    return;
  }
  site.closes_products = questions.closes_products(slot);
  for (int c = 0; site.closes_products && c < int(schedule.channels.size()); ++c) {
    if (questions.reads(slot, c)) site.channels_read.push_back(c);
  }
}

constexpr int64_t kNoBound = INT64_MAX;

}  // namespace

std::vector<Section> schedule_sections(const ir::Schedule& schedule, const std::vector<Slot>& slots, bool again,
                                       const StepQuestions& questions) {
  std::vector<Section> out = all_sections(schedule, slots);
  // From so many iterations on another one repeats what the one before it does.
  int64_t enough = 2;
  for (const Slot& slot : slots) enough = std::max<int64_t>(enough, 2 + std::abs(slot.stage - schedule.anchor));
  for (const ir::Channel& channel : schedule.channels) enough += channel.stages;
  for (Section& section : out) {
    for (Site& site : section.sites) {
      site.later = kNoBound;
      answer(site, schedule, questions);
      site.separated = site.slot.kind == Slot::Kind::acquire && site.is_own;
    }
  }
  for (int64_t n = 0; n <= enough; ++n) {
    for (int64_t before = 0; before <= (again ? enough : 0); ++before) {
      Path path(schedule, out);
      if (again) path.run(before);
      path.run(n);
    }
  }
  for (Section& section : out) {
    for (Site& site : section.sites) {
      if (site.later == kNoBound) site.later = 0;
    }
  }
  return out;
}

}  // namespace tilewright::passes
