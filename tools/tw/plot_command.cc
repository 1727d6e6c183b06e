#include "plot_command.h"

#include "kernel_argument.h"

#include <tilewright/error.h>
#include <tilewright/plot.h>

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace {

using namespace tilewright;

struct PlotCommand {
  std::string kernel, tile, target = "auto", region, format, file;
};

[[noreturn]] void refuse_region(const std::string& region) {
  throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is no region", region))
      .hint("an index or begin:end for each dimension, as in 0:16,0:8 or 2,0:16,0:8");
}

int64_t parse_index(std::string_view text, const std::string& region) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse_region(region);
  return value;
}

std::vector<std::pair<int64_t, int64_t>> parse_region(const std::string& region) {
  std::vector<std::pair<int64_t, int64_t>> out;
  std::string_view left = region;
  while (!region.empty()) {
    const std::string_view range = left.substr(0, left.find(','));
    const size_t colon = range.find(':');
    const int64_t begin = parse_index(range.substr(0, colon), region);
    out.emplace_back(begin, colon == range.npos ? begin + 1 : parse_index(range.substr(colon + 1), region));
    if (range.size() == left.size()) break;
    left.remove_prefix(range.size() + 1);
  }
  return out;
}

// As asked, else by the end of the file's name; text for a terminal.
PlotFormat choose_format(const PlotCommand& command) {
  if (command.format == "text") return PlotFormat::text;
  if (command.format == "svg") return PlotFormat::svg;
  if (command.format == "png") return PlotFormat::png;
  const std::string_view file = command.file;
  if (file.ends_with(".svg")) return PlotFormat::svg;
  if (file.ends_with(".png")) return PlotFormat::png;
  if (file.empty() || file.ends_with(".txt")) return PlotFormat::text;
  throw Error(ErrorKind::invalid_argument, fmt::format("the name {} does not say what to write", file))
      .hint(
          "end it in .svg, .png or .txt, or pass --format; other programs make pictures of other kinds from SVG, for "
          "instance rsvg-convert");
}

void list_tiles(const Program& program, const std::string& target) {
  for (const PlottedTile& tile : plotted_tiles(program, target))
    fmt::print("{:<20} {:<16} {:<28} {}{}\n", tile.kernel, tile.name, tile.description, tile.place,
               tile.why.empty() ? "" : "  # " + tile.why);
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(ErrorKind::invalid_argument, fmt::format("{} cannot be written", file));
  fmt::print("wrote {}\n", file);
}

}  // namespace

void add_plot_command(CLI::App& app, ExitStatus&) {
  CLI::App* command = app.add_subcommand("plot", "Draw where the elements of a kernel's tile lie");
  auto options = std::make_shared<PlotCommand>();
  command->add_option("KERNEL", options->kernel, "a printed-program file, or an example's name")->required();
  command->add_option("TILE", options->tile, "a tile's name, or KERNEL.TILE; without one, list the tiles");
  command->add_option("--target", options->target, "what to plan for; no such device is needed")->capture_default_str();
  command->add_option("--region", options->region, "the part to draw, as 0:16,0:8; an index stands for one row");
  command->add_option("--format", options->format, "text, svg or png; default: by the file's name, text without a file")
      ->check(CLI::IsMember({"text", "svg", "png"}));
  command->add_option("-o,--output", options->file, "the file to write; a browser shows owners under the pointer");
  command->callback([options] {
    const Program program = tw::load_kernel(options->kernel);
    if (options->tile.empty()) return list_tiles(program, options->target);
    PlotOptions plotting{.target = options->target, .format = choose_format(*options)};
    plotting.region = parse_region(options->region);
    const size_t dot = options->tile.rfind('.');
    if (dot != std::string::npos) plotting.kernel = options->tile.substr(0, dot);
    const std::string picture = plot(program, options->tile.substr(dot == std::string::npos ? 0 : dot + 1), plotting);
    if (options->file.empty())
      fmt::print("{}", picture);
    else
      write(options->file, picture);
  });
}
