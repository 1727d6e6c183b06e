#include "demo_command.h"

#include "demo.h"

#include <memory>

void add_demo_command(CLI::App& app, ExitStatus& status) {
  CLI::App* command = app.add_subcommand("demo", "Run the quickstart GEMM with fused ReLU, check it, print its speed");
  auto options = std::make_shared<tw::DemoOptions>();
  command->add_option("--m", options->m, "rows of C")->capture_default_str();
  command->add_option("--n", options->n, "columns of C")->capture_default_str();
  command->add_option("--k", options->k, "columns of A")->capture_default_str();
  command->add_option("--block-m", options->block_m, "rows of a tile of C")->capture_default_str();
  command->add_option("--block-n", options->block_n, "columns of a tile of C")->capture_default_str();
  command->add_option("--block-k", options->block_k, "depth of the tiles of A and B")->capture_default_str();
  command->add_option("--dtype", options->dtype, "f16, bf16, f32, tf32, f8e4m3 or f8e5m2")->capture_default_str();
  command->add_option("--target", options->target, "auto, cpu, cpu:LEVEL, cuda or sim:ARCH")->capture_default_str();
  command->add_flag("--json", options->json, "one JSON object on standard output, everything else on standard error");
  command->callback(
      [options, &status] { status = tw::run_demo(*options) == 0 ? ExitStatus::success : ExitStatus::wrong; });
}
