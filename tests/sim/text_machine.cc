#include "sim/text_machine.h"

#include "sim/tools.h"

#include <algorithm>

namespace tilewright::test {

namespace {

constexpr const char* kFirstLine = "// the text begins";

}  // namespace

TextMachine::TextMachine(const std::string& body, int64_t shared_bytes, const std::string& name)
    : target(sim_target_from_name(name)) {
  Tools& tools = Tools::get();
  std::string text;
  for (const char* header : {"async_copy", "atomic", "barrier", "cluster", "fence", "grid", "language", "matrix",
                             "mbarrier", "memory", "mma", "tma", "update", "warp", "wgmma_bf16", "wgmma_f16"}) {
    text += std::string("#include <tilewright/device/cuda/") + header + ".h>\n";
  }
  text += std::string("using namespace tilewright::device;\n") + kFirstLine + "\n" + body + "\n";
  SourceMap map;
  map.locs.resize(size_t(std::count(text.begin(), text.end(), '\n')));
  const std::vector<sim::KernelShape> kernels = {{"k", shared_bytes, 1}};
  module_ = sim::Module::compile(text, map, kernels, target, tools.compiler, tools.cache);
  for (int line = 1; first_line_ == 0; ++line) {
    if (module_->source_line(line) == kFirstLine) first_line_ = line;
  }
}

Outcome TextMachine::run(int blocks, int threads, std::vector<void*> arguments, std::vector<sim::Region> arrays,
                         int64_t red_zone_bytes) const {
  return run({{.blocks = blocks, .threads = threads, .arguments = std::move(arguments)}}, std::move(arrays),
             red_zone_bytes);
}

Outcome TextMachine::run(const std::vector<Launch>& launches, std::vector<sim::Region> arrays,
                         int64_t red_zone_bytes) const {
  Outcome out;
  std::optional<sim::Detector> detector;
  if (target.checked) detector.emplace(std::move(arrays), 1, red_zone_bytes, shared_parts);
  for (const Launch& launch : launches) {
    if (detector) detector->begin_launch(launch.programmatic);
    for (int b = 0; b < launch.blocks && out.findings.empty(); b += launch.cluster) {
      const sim::Block block{.block = {unsigned(b), 0, 0},
                             .grid = {unsigned(launch.blocks), 1, 1},
                             .threads = {unsigned(launch.threads), 1, 1},
                             .cluster = {unsigned(launch.cluster), 1, 1}};
      auto found = sim::run_block(module_->kernels()[0], block, launch.arguments.data(), target.adversary,
                                  detector ? &*detector : nullptr);
      if (found) out.findings.push_back(std::move(*found));
    }
  }
  if (detector) {
    for (sim::Finding& f : detector->findings()) out.findings.push_back(std::move(f));
  }
  const auto lines = module_->lines(out.findings, Tools::get().options.temp_dir);
  for (const sim::Finding& f : out.findings) {
    out.lines.push_back(lines.at(f.site.value) - first_line_);
    out.note_lines.emplace_back();
    for (const auto& note : f.notes) out.note_lines.back().push_back(lines.at(note.site.value) - first_line_);
  }
  return out;
}

std::map<int, Counters> TextMachine::count(int blocks, int threads, std::vector<void*> arguments,
                                           std::vector<sim::Region> arrays) const {
  sim::WarpCounter counter(std::move(arrays));
  for (int b = 0; b < blocks; ++b) {
    const sim::Block block{
        .block = {unsigned(b), 0, 0}, .grid = {unsigned(blocks), 1, 1}, .threads = {unsigned(threads), 1, 1}};
    const auto found =
        sim::run_block(module_->kernels()[0], block, arguments.data(), target.adversary, nullptr, &counter);
    EXPECT_FALSE(found) << found->text;
  }
  std::map<int, Counters> out;
  if (counter.overflowed()) return out;
  std::vector<sim::Site> sites;
  for (const auto& [site, counters] : counter.sites()) sites.push_back({site});
  const auto lines = module_->lines(sites, Tools::get().options.temp_dir);
  for (const auto& [site, counters] : counter.sites()) out[lines.at(site) - first_line_] += counters;
  return out;
}

}  // namespace tilewright::test
