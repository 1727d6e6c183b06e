#include <tilewright/plot.h>

#include "driver/choose_target.h"
#include "ir/verify.h"
#include "layout/draw.h"
#include "passes/cuda_passes.h"
#include "passes/passes.h"
#include "support/error.h"
#include "target/dtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tilewright {

namespace {

struct Found {
  std::string kernel;
  ir::Tile tile;
};

void add_tiles(const ir::Program& program, bool fragments, std::vector<Found>& out) {
  for (const ir::Kernel& kernel : program.kernels) {
    for (const ir::Tile& tile : kernel.tiles) {
      const bool drawable = fragments ? tile.fragment.has_value() : tile.layout.has_value();
      if (!tile.on_chip() || !drawable || tile.rank() == 0 || !tile.origin.empty()) continue;
      const bool known = std::ranges::any_of(
          out, [&](const Found& found) { return found.kernel == kernel.name && found.tile.name == tile.name; });
      if (!known) out.push_back({kernel.name, tile});
    }
  }
}

// The tiles with their places. Fragments are taken where they are whole; behind that they are arrays of registers.
struct Planner {
  const ir::Program& program;

  std::vector<Found> operator()(const CpuTarget& target) const {
    std::vector<Remark> remarks;
    std::vector<Found> out;
    add_tiles(passes::cpu_pipeline(program, target, remarks), false, out);
    return out;
  }
  std::vector<Found> operator()(const CudaTarget& target) const {
    std::vector<Remark> remarks;
    std::vector<Found> out;
    const ir::Program lowered =
        passes::cuda_pipeline(program, target, remarks, [&](const char* pass, const ir::Program& p, double) {
          if (std::string_view(pass) == "plan_operands") add_tiles(p, true, out);
        });
    add_tiles(lowered, false, out);
    return out;
  }
  std::vector<Found> operator()(const SimTarget& target) const { return (*this)(target.cuda); }
};

std::vector<Found> planned(const Program& program, const std::string& target) {
  ir::verify(program.ir());
  return std::visit(Planner{program.ir()}, choose_target(target, TargetUse::text));
}

std::string place_of(const ir::Tile& tile) {
  return tile.fragment ? layout::to_string(*tile.fragment) : layout::to_string(*tile.layout);
}

std::vector<int64_t> shape_of(const ir::Tile& tile) {
  return tile.fragment ? tile.fragment->shape() : tile.layout->shape();
}

std::vector<layout::DrawRange> region_of(const PlotOptions& options, const std::vector<int64_t>& shape) {
  std::vector<layout::DrawRange> out;
  for (const auto& [begin, end] : options.region) out.push_back({begin, end});
  if (!out.empty()) return out;
  for (size_t d = 0; d < shape.size(); ++d)
    out.push_back({0, d + 2 < shape.size() ? std::min<int64_t>(shape[d], 1) : shape[d]});
  return out;
}

}  // namespace

std::vector<PlottedTile> plotted_tiles(const Program& program, const std::string& target) {
  std::vector<PlottedTile> out;
  for (const Found& found : planned(program, target)) {
    const ir::Tile& tile = found.tile;
    out.push_back({.kernel = found.kernel,
                   .name = tile.name,
                   .description = ir::describe(tile),
                   .shape = shape_of(tile),
                   .place = place_of(tile),
                   .is_fragment = tile.fragment.has_value(),
                   .why = ir::to_string(tile.placed)});
  }
  return out;
}

std::string plot(const Program& program, const std::string& tile, const PlotOptions& options) {
  const std::vector<Found> all = planned(program, options.target);
  const auto found = std::ranges::find_if(all, [&](const Found& f) {
    return f.tile.name == tile && (options.kernel.empty() || f.kernel == options.kernel);
  });
  if (found == all.end()) {
    std::vector<std::string> names;
    for (const Found& f : all)
      names.push_back(program.ir().kernels.size() > 1 ? f.kernel + "." + f.tile.name : f.tile.name);
    throw invalid_argument("{} has no tile '{}' on chip{}", options.kernel.empty() ? program.name() : options.kernel,
                           tile, all.empty() ? ", nor any other" : "")
        .hint(all.empty() ? std::string("tiles of tensors lie where the launch says")
                          : fmt::format("tiles are {}", fmt::join(names, ", ")));
  }
  const ir::Tile& t = found->tile;
  const std::string title = fmt::format("{} of {}: {}  {}{}", t.name, found->kernel, ir::describe(t), place_of(t),
                                        t.placed.why.empty() ? "" : "  # " + ir::to_string(t.placed));
  const std::vector<layout::DrawRange> region = region_of(options, shape_of(t));
  if (options.format == PlotFormat::text)
    return t.fragment ? layout::draw_text(*t.fragment, region) : layout::draw_text(*t.layout, region);
  if (options.format == PlotFormat::png) {
    return t.fragment ? layout::draw_png(*t.fragment, region) : layout::draw_png(*t.layout, bytes_of(t.dtype), region);
  }
  return t.fragment ? layout::draw_svg(*t.fragment, title, region)
                    : layout::draw_svg(*t.layout, bytes_of(t.dtype), title, region);
}

}  // namespace tilewright
