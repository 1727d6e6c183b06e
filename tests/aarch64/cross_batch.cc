#include "aarch64/cross_batch.h"

#include "codegen/cpu.h"
#include "driver/executable.h"
#include "harness/folders.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "runtime/bind.h"
#include "runtime/host_compiler.h"
#include "runtime/process.h"
#include "harness/two_threads.h"
#include "runtime/test_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tilewright::tests {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNumUnits = 6;  // that two processors share
constexpr std::chrono::minutes kTimeLimit{5};

// From the first byte of a tensor to behind its last one.
size_t bytes_of(const BoundTensor& tensor, DType dtype) {
  int64_t last = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) last += (tensor.shape[d] - 1) * tensor.strides[d];
  return tensor.num_elems() == 0 ? 0 : size_t(last + 1) * size_t(tilewright::bytes_of(dtype));
}

// Those of compiled kernels, but for what makes a shared object, and for what x86 alone has.
std::vector<std::string> cross_flags() {
  std::vector<std::string> flags = compile_flags({.level = CpuLevel::generic}, CompilerKind::gcc);
  std::erase_if(flags, [](const std::string& f) {
    return f == "-fPIC" || f == "-shared" || f == "-nostdlib" || f.starts_with("-m");
  });
  for (const char* folder : {"include", "tests"}) flags.push_back("-I" + (testing::source_folder() / folder).string());
  flags.insert(flags.end(), {"-O2", "-fwrapv"});
  return flags;
}

void run_tool(std::vector<std::string> command) {
  const ProcessResult result = run_process({.command = command, .timeout = kTimeLimit});
  if (!result.ok()) {
    throw std::runtime_error(fmt::format("{}: {}\n{}", fmt::join(command, " "), result.describe(), result.output));
  }
}

}  // namespace

void CrossBatch::put(const void* data, size_t bytes) { input_.append(static_cast<const char*>(data), bytes); }
void CrossBatch::put(uint64_t number) { put(&number, sizeof number); }

void CrossBatch::add(const Program& program, const Args& args) {
  ir::verify(program.ir());
  const CpuTarget target{.level = CpuLevel::generic};
  std::vector<Remark> remarks;
  codegen::CpuModule module = codegen::emit_cpu(passes::cpu_pipeline(program.ir(), target, remarks), target);
  Job job{.source = std::move(module.source),
          .symbols = {},
          .args = args,
          .memories = {},
          .reinterprets = module.reinterprets};
  std::vector<int64_t> scratch_bytes;
  for (const codegen::CpuEntry& entry : module.entries) {
    job.symbols.push_back(entry.symbol);
    scratch_bytes.push_back(entry.scratch_bytes);
  }
  write_input(program, job, scratch_bytes);
  jobs_.push_back(std::move(job));
}

// As driver/main.cc reads it.
void CrossBatch::write_input(const Program& program, Job& job, const std::vector<int64_t>& scratch_bytes) {
  const ir::Program& p = program.ir();
  BoundArguments bound = bind_arguments(p, views(job.args));
  put(p.tensors.size());
  for (size_t i = 0; i < p.tensors.size(); ++i) {
    const bool is_view = p.tensors[i].kind == ir::TensorKind::view;
    const size_t bytes = is_view ? 0 : bytes_of(bound.tensors[i], p.tensors[i].dtype);
    put(is_view ? uint64_t(p.tensors[i].view_of) : i);
    put(bytes);
    if (is_view) continue;
    if (p.tensors[i].kind == ir::TensorKind::workspace && bytes > 0) std::memset(bound.tensors[i].data, 0xA5, bytes);
    put(bound.tensors[i].data, bytes);
    job.memories.push_back({static_cast<std::byte*>(bound.tensors[i].data), bytes});
  }
  put(p.scalars.size());
  for (const ir::Scalar& scalar : p.scalars) {
    put(uint64_t(raw_value(scalar.var.dtype(), *bound.scalars[size_t(scalar.var.var_id())])));
  }
  put(p.kernels.size());
  for (size_t k = 0; k < p.kernels.size(); ++k) {
    int64_t blocks = 1;
    for (const ir::Expr& extent : p.kernels[k].grid) blocks *= std::max<int64_t>(0, evaluate(extent, bound.scalars));
    put(uint64_t(blocks));
    put(uint64_t(scratch_bytes[k]));
  }
  workspaces_.insert(workspaces_.end(), bound.workspaces.begin(), bound.workspaces.end());
}

std::vector<Args> CrossBatch::run(const std::string& compiler, const std::string& emulator, const fs::path& folder) {
  std::vector<std::string> units(kNumUnits), objects;
  std::string declared, names;
  bool reinterprets = false;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    units[i % kNumUnits] += jobs_[i].source + "\n";
    reinterprets = reinterprets || jobs_[i].reinterprets;
    for (const std::string& symbol : jobs_[i].symbols) {
      declared += fmt::format("extern \"C\" Kernel {};\n", symbol);
      names += fmt::format("  {},\n", symbol);
    }
  }
  const std::string table = fmt::format(
      "#include \"aarch64/driver/kernels.h\"\n{}Kernel* const kKernels[] = {{\n{}}};\n"
      "const size_t kNumKernels = sizeof kKernels / sizeof kKernels[0];\n",
      declared, names);
  test::write_text(folder / "table.cc", table);
  uint64_t count = jobs_.size();
  test::write_text(folder / "in", std::string(reinterpret_cast<const char*>(&count), sizeof count) + input_);

  std::vector<std::string> base = cross_flags();
  base.insert(base.begin(), compiler);
  if (reinterprets) base.push_back("-fno-strict-aliasing");
  std::vector<std::vector<std::string>> commands;
  const auto compile_to_object = [&](const fs::path& source, const std::string& name) {
    objects.push_back((folder / (name + ".o")).string());
    commands.push_back(base);
    for (const std::string& word : {std::string("-c"), source.string(), std::string("-o"), objects.back()})
      commands.back().push_back(word);
  };
  for (size_t u = 0; u < kNumUnits; ++u) {
    test::write_text(folder / fmt::format("unit{}.cc", u), units[u]);
    compile_to_object(folder / fmt::format("unit{}.cc", u), fmt::format("unit{}", u));
  }
  compile_to_object(folder / "table.cc", "table");
  compile_to_object(testing::source_folder() / "tests/aarch64/driver/main.cc", "main");
  testing::for_each_on_two_threads(commands.size(), [&](size_t i) { run_tool(commands[i]); });

  std::vector<std::string> link = {compiler, "-static", "-o", (folder / "driver").string()};
  link.insert(link.end(), objects.begin(), objects.end());
  run_tool(link);
  run_tool({emulator, (folder / "driver").string(), (folder / "in").string(), (folder / "out").string()});

  const std::string out = test::read_text(folder / "out");
  size_t at = 0;
  std::vector<Args> after;
  for (Job& job : jobs_) {
    for (const Memory& memory : job.memories) {
      if (out.size() - at < memory.bytes) throw std::runtime_error("the driver's output is too short");
      if (memory.bytes > 0) std::memcpy(memory.data, out.data() + at, memory.bytes);
      at += memory.bytes;
    }
    after.push_back(job.args);
  }
  if (at != out.size()) throw std::runtime_error("the driver's output is too long");
  return after;
}

}  // namespace tilewright::tests
