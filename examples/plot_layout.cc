// Draws who holds what in the fragments of the tensor cores' instructions. No GPU is needed.
#include "plot_layout.h"

#include <tilewright/error.h>
#include <tilewright/plot.h>

#include <cstdio>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
  using namespace tilewright;
  const std::string target = "cuda:sm_90a";
  try {
    const Program program = examples::plot_layout();
    if (argc == 1) {
      for (const PlottedTile& tile : plotted_tiles(program, target)) {
        std::printf("%s  %s\n%s\n", tile.name.c_str(), tile.place.c_str(),
                    plot(program, tile.name, {.target = target, .format = PlotFormat::text}).c_str());
      }
      return 0;
    }
    if (argc == 3) {
      const std::string file = argv[2];
      const PlotFormat format = file.ends_with(".png") ? PlotFormat::png : PlotFormat::svg;
      std::ofstream out(file, std::ios::binary);
      out << plot(program, argv[1], {.target = target, .format = format});
      out.close();
      if (out) return 0;
      std::fprintf(stderr, "%s cannot be written\n", file.c_str());
      return 2;
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  std::fprintf(stderr, "usage: plot_layout [TILE FILE.svg]\n");
  return 2;
}
