#include "runtime/sim/module.h"

#include "runtime/sim/code_lines.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace tilewright::sim {

namespace {

// Behind the shared memory that a kernel asks for.
constexpr int64_t kMarginBytes = 4096;
constexpr const char* kKernelWord = "__global__";

// Whether the compiler can fill variables that nobody set: clang does, g++ from version 12 on.
bool fills_variables(const HostCompiler& compiler) {
  if (compiler.kind() == CompilerKind::clang) return true;
  const std::string& version = compiler.version();  // "... 12.2.0"
  const size_t last = version.find_last_of(' ');
  return last != std::string::npos && std::atoi(version.c_str() + last) >= 12;
}

std::vector<std::string> flags(const SimTarget& target, const HostCompiler& compiler) {
  std::vector<std::string> out = compile_flags({.level = CpuLevel::x86_64}, compiler.kind());
  const auto add = [&](std::initializer_list<std::string> words) { out.insert(out.end(), words); };
  // Each operation is rounded by itself, as CUDA's functions of that meaning say; memory may have two element types.
  add({"-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-fvisibility=hidden", "-D__CUDACC__",
       fmt::format("-D__CUDA_ARCH__={}0", target.cuda.sm)});
  if (target.cuda.accelerated) add({fmt::format("-D__CUDA_ARCH_FEAT_SM{}_ALL", target.cuda.sm)});
  // Registers that nobody set are no zeros: bytes of 0xfe (g++), NaN (clang). Such a value that reaches a result shows.
  if (fills_variables(compiler)) add({"-ftrivial-auto-var-init=pattern"});
  // The compiler reports accesses, and indices beside the ends of arrays; nothing of its libraries is linked. Line
  // tables alone of all that a debugger reads.
  if (target.checked) add({"-fsanitize=thread", "-fsanitize=bounds", "-DTW_SIM_CHECKED", "-g1"});
  return out;
}

// The second number of a kernel's __launch_bounds__: how many blocks share the registers of a multiprocessor.
int blocks_that_share_registers(const std::string& text, const std::string& symbol) {
  const std::string word = "__launch_bounds__(";
  const auto begins = [&](char before) { return text.find(before + symbol + "("); };
  const size_t name = std::min(begins('\n'), begins(' ')), at = text.rfind(word, name);
  if (name == std::string::npos || at == std::string::npos) return 1;
  const size_t comma = text.find(',', at), end = text.find(')', at);
  if (comma > end || text.find(kKernelWord, at) < name) return 1;
  return std::max(1, std::atoi(text.c_str() + comma + 1));
}

int count_lines(std::string_view text) { return int(std::count(text.begin(), text.end(), '\n')); }

std::vector<size_t> line_begins(const std::string& text) {
  std::vector<size_t> out = {0};
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) out.push_back(++at);
  return out;
}

}  // namespace

std::shared_ptr<const Module> Module::compile(const std::string& text, const SourceMap& map,
                                              std::span<const KernelShape> kernels, const SimTarget& target,
                                              const HostCompiler& compiler, Cache& cache,
                                              const std::optional<std::filesystem::path>& keep_dir) {
  auto out = std::make_shared<Module>();
  out->standalone_ = codegen::inline_device_headers(text, map, true);
  std::string& whole = out->standalone_.text;
  const size_t last_include = text.rfind("\n#include ");
  const size_t body = last_include == std::string::npos ? 0 : text.find('\n', last_include + 1) + 1;
  out->includes_end_ = count_lines(std::string_view(text).substr(0, body));
  out->headers_end_ = count_lines(whole) - count_lines(text) + out->includes_end_;
  int64_t shared_bytes = 0;
  for (const KernelShape& k : kernels) shared_bytes = std::max(shared_bytes, k.shared_bytes);
  whole += fmt::format("TW_SIM_MODULE({}, {})\n", shared_bytes, kMarginBytes);
  for (const KernelShape& k : kernels) whole += fmt::format("TW_SIM_ENTRY({})\n", k.symbol);
  out->line_begins_ = line_begins(whole);
  out->standalone_.source_map.locs.resize(size_t(count_lines(whole)));
  const HostSource source{.text = whole, .flags = flags(target, compiler), .source_map = &out->standalone_.source_map};
  out->loaded_ = compile_and_load(source, compiler, cache, {.keep_dir = keep_dir, .keep_object = target.checked});
  const LoadedModule& loaded = *out->loaded_;
  loaded.function<void(const device::sim::Hooks*)>("tw_sim_attach")(&hooks());
  for (const KernelShape& k : kernels) {
    out->kernels_.push_back({.enter = loaded.function<void(void* const*)>("tw_sim_enter_" + k.symbol),
                             .shared = loaded.function<unsigned char*()>("tw_sim_shared"),
                             .thread = loaded.function<const device::sim::ThreadView**()>("tw_sim_thread"),
                             .shared_bytes = k.shared_bytes,
                             .margin_bytes = kMarginBytes,
                             .shared_unit_bytes = k.shared_unit_bytes,
                             .blocks_of_registers = blocks_that_share_registers(text, k.symbol)});
  }
  return out;
}

std::map<uint64_t, int> Module::lines(const std::vector<Finding>& findings,
                                      const std::filesystem::path& temp_dir) const {
  std::vector<Site> sites;
  for (const Finding& f : findings) {
    sites.push_back(f.site);
    for (const Finding::Note& note : f.notes) sites.push_back(note.site);
  }
  return lines(sites, temp_dir);
}

std::map<uint64_t, int> Module::lines(const std::vector<Site>& sites, const std::filesystem::path& temp_dir) const {
  Dl_info info = {};
  const bool found = ::dladdr(reinterpret_cast<const void*>(kernels_.front().enter), &info) != 0;
  const uint64_t base = found ? reinterpret_cast<uint64_t>(info.dli_fbase) : 0;
  // What returns to an address is the call before it.
  const auto offset = [&](const Site& site) { return site.code_address() - base - 1; };
  std::set<uint64_t> addresses;
  for (const Site& site : sites) {
    if (site.is_code()) addresses.insert(offset(site));
  }
  const std::map<uint64_t, int> of_code = lines_of_code(loaded_->object(), addresses, temp_dir);
  std::map<uint64_t, int> out;
  for (const Site& site : sites) {
    const auto at = site.is_code() ? of_code.find(offset(site)) : of_code.end();
    out[site.value] = at != of_code.end() ? at->second : site.line_number();
  }
  return out;
}

std::string Module::source_line(int line) const {
  if (line <= 0 || size_t(line) > line_begins_.size()) return "";
  const std::string& all = standalone_.text;
  const size_t begin = all.find_first_not_of(' ', line_begins_[size_t(line) - 1]);
  return begin == std::string::npos ? "" : all.substr(begin, all.find('\n', begin) - begin);
}

Loc Module::loc(int line) const {
  const Loc* found = standalone_.source_map.find(line);
  return found ? *found : Loc();
}

}  // namespace tilewright::sim
