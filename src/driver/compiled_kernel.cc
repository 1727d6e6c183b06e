#include "driver/compiled_kernel.h"

#include "driver/session.h"
#include "support/error.h"
#include "support/hash.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tilewright {

namespace {

// Blocks of the grid; none where an extent is 0 or less.
int64_t count_blocks(const ir::Kernel& kernel, const ScalarValues& scalars) {
  std::vector<int64_t> extents;
  for (const ir::Expr& e : kernel.grid) extents.push_back(std::max<int64_t>(0, evaluate(e, scalars)));
  if (std::count(extents.begin(), extents.end(), 0) > 0) return 0;
  int64_t blocks = 1;
  for (int64_t extent : extents) {
    if (!__builtin_mul_overflow(blocks, extent, &blocks)) continue;
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the grid of {} has {} blocks, more than 2^63", kernel.name, fmt::join(extents, " x ")),
                kernel.loc)
        .hint("check the extents that the arguments give");
  }
  return blocks;
}

std::vector<int64_t> grid_extents(const ir::Kernel& kernel, const ScalarValues& scalars) {
  std::vector<int64_t> extents;
  for (const ir::Expr& e : kernel.grid) extents.push_back(evaluate(e, scalars));
  return extents;
}

// A grid without blocks is no error, but what a launch leaves out is said.
void note_empty_grid(const CompiledKernel::Impl& impl, size_t index, Launch::Impl& launch) {
  const ir::Kernel& kernel = impl.program.kernels[index];
  launch.remarks.push_back({.kind = "empty_grid",
                            .text = fmt::format("no block of {} runs: its grid is {}", kernel.name,
                                                fmt::join(grid_extents(kernel, launch.bound.scalars), " x ")),
                            .loc = kernel.loc});
  const std::lock_guard lock(impl.mutex);
  impl.empty_launches.resize(impl.program.kernels.size());
  ++impl.empty_launches[index];
}

// In a folder of its own, which goes with `file` unless it is to stay.
void write_temporary(const CompiledKernel::Impl& impl, SourceFile& file) {
  namespace fs = std::filesystem;
  const fs::path& temp = Session::get().options().temp_dir;
  std::string folder = (temp / "tilewright-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    throw toolchain_error("no folder can be made in {}", temp.string()).hint("set TMPDIR to a folder you may write");
  }
  file.temporary_folder = folder;
  file.path = (fs::path(folder) / (impl.program.name + std::string(impl.executable->source_suffix()))).string();
  std::ofstream(file.path) << impl.executable->source();
}

void write_source(const CompiledKernel::Impl& impl, SourceFile& file) {
  const std::string& text = impl.executable->source();
  const std::string key = KeyBuilder().add(impl.program.name).add(text).hex();
  file.path = Session::get()
                  .cache()
                  .keep_text(key, impl.program.name + std::string(impl.executable->source_suffix()), text)
                  .string();
  if (file.path.empty()) write_temporary(impl, file);
}

}  // namespace

SourceFile::~SourceFile() {
  std::error_code ignored;
  if (!temporary_folder.empty()) std::filesystem::remove_all(temporary_folder, ignored);
}

std::vector<Error> BoundLaunch::watch(const SimTarget&, int64_t, CountedLines*) const {
  throw internal_error({}, "only the simulator watches a launch");
}

void BoundLaunch::launch_into(void*) const {
  throw invalid_argument("a stream was passed, but only a GPU has streams")
      .hint("launch without one, or compile for \"cuda\"");
}

int64_t raw_value(DType dtype, const ScalarValue& value) {
  return is_float(dtype) ? std::bit_cast<int64_t>(value.f) : value.i;
}

int64_t parameter_bits(DType dtype, const ScalarValue& value) {
  if (dtype == DType::f64) return std::bit_cast<int64_t>(value.f);
  if (is_float(dtype)) return int64_t(std::bit_cast<uint32_t>(float(value.f)));
  return value.i;
}

Error failed_check(const codegen::CheckSite& site, const long long* at) {
  if (!site.condition.empty()) {
    return invalid_kernel(site.loc, "{} is assumed, but does not hold", site.condition)
        .hint("T::assume is for what every launch satisfies; T::if_ is for what some do");
  }
  const auto rank = size_t(std::count(site.shape.begin(), site.shape.end(), ',')) + 1;
  std::string index;
  for (size_t d = 0; d < std::min<size_t>(rank, 7); ++d) index += fmt::format("{}{}", d ? ", " : "", at[d]);
  return invalid_kernel(site.loc, "{}[{}] is {} outside its shape {}", site.tile, index,
                        site.is_store ? "written" : "read", site.shape)
      .note(fmt::format("{}  {}", site.tile, site.shape), site.declared)
      .hint("guard the access with T::if_ or T::if_then_else, or make the tile larger");
}

std::string describe_tiles(const ir::Program& lowered) {
  std::string out;
  for (const ir::Kernel& kernel : lowered.kernels) {
    for (const ir::Tile& tile : kernel.tiles) {
      if (!tile.on_chip() || tile.unchecked || tile.rank() == 0 || !tile.origin.empty()) continue;
      const std::string why = ir::to_string(tile.placed);
      out += fmt::format("  {:<16} {}{}\n", tile.name, ir::describe(tile), why.empty() ? "" : "  # " + why);
    }
  }
  return out;
}

const std::string& CompiledKernel::target() const { return impl_->target; }
const std::string& CompiledKernel::get_kernel_source() const { return impl_->executable->source(); }
const std::vector<Remark>& CompiledKernel::remarks() const { return impl_->remarks; }

std::string CompiledKernel::source_path(bool keep) const {
  const std::lock_guard lock(impl_->mutex);
  SourceFile& file = impl_->source_file;
  if (file.path.empty()) write_source(*impl_, file);
  if (keep) file.temporary_folder.clear();
  return file.path;
}

std::string CompiledKernel::report() const {
  std::string out = fmt::format("{} on {}\n", impl_->program.name, impl_->target);
  for (size_t k = 0; k < impl_->program.kernels.size(); ++k) out += impl_->executable->describe(k) + "\n";
  {
    const std::lock_guard lock(impl_->mutex);
    for (size_t k = 0; k < impl_->empty_launches.size(); ++k) {
      if (impl_->empty_launches[k] == 0) continue;
      out += fmt::format("kernel {}: {} launches had a grid without blocks\n", "tw_" + impl_->program.kernels[k].name,
                         impl_->empty_launches[k]);
    }
  }
  out += "tiles\n" + impl_->lowered_tiles;
  if (impl_->remarks.empty()) return out + "no remarks\n";
  for (const Remark& remark : impl_->remarks) {
    out += fmt::format("remark {}: {}{}\n", remark.kind, remark.text,
                       remark.loc.known() ? " at " + remark.loc.to_string() : "");
  }
  return out;
}

Launch CompiledKernel::bind_arguments(std::vector<Argument> arguments) const {
  auto launch = std::make_shared<Launch::Impl>();
  launch->kernel = impl_;
  launch->bound = tilewright::bind_arguments(impl_->program, arguments, impl_->executable->bind_options());
  std::vector<int64_t> num_blocks;
  for (size_t k = 0; k < impl_->program.kernels.size(); ++k) {
    num_blocks.push_back(count_blocks(impl_->program.kernels[k], launch->bound.scalars));
    if (num_blocks.back() == 0) note_empty_grid(*impl_, k, *launch);
  }
  launch->launch = impl_->executable->bind(launch->bound, std::move(num_blocks), launch->remarks);
  return Launch(std::move(launch));
}

void CompiledKernel::run(std::vector<Argument> arguments) const {
  const Launch launch = bind_arguments(std::move(arguments));
  launch();
  launch.wait();
}

Profile CompiledKernel::profile(std::vector<Argument> arguments, const ProfileOptions& options) const {
  const Launch launch = bind_arguments(std::move(arguments));
  return launch.profile(options);
}

const std::vector<Remark>& Launch::remarks() const { return impl_->remarks; }

void Launch::operator()(const LaunchOptions& options) const {
  if (options.stream) {
    impl_->launch->launch_into(options.stream);
  } else {
    impl_->launch->launch();
  }
}
void Launch::wait() const { impl_->launch->wait(); }

Profile Launch::profile(const ProfileOptions& options) const {
  return profile_timed([&] { return impl_->launch->time_ms(); }, options);
}

}  // namespace tilewright
