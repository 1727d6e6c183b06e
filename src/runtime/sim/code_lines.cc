#include "runtime/sim/code_lines.h"

#include "runtime/process.h"
#include "runtime/scratch.h"

#include <tilewright/error.h>

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

namespace tilewright::sim {

namespace fs = std::filesystem;

namespace {

// For each address its own line, then "file:line" of the code and of what it was inlined into, from the inside.
std::map<uint64_t, int> parse(const std::string& output) {
  std::map<uint64_t, int> out;
  std::istringstream lines(output);
  uint64_t address = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      address = std::strtoull(line.c_str(), nullptr, 16);
      continue;
    }
    const size_t colon = line.rfind(':');
    const int number = colon == std::string::npos ? 0 : std::atoi(line.c_str() + colon + 1);
    if (number > 0) out[address] = number;
  }
  return out;
}

}  // namespace

std::map<uint64_t, int> lines_of_code(const std::string& object, const std::set<uint64_t>& addresses,
                                      const fs::path& temp_dir) {
  if (addresses.empty() || object.empty()) return {};
  const std::optional<Scratch> scratch = Scratch::create_in(temp_dir);
  if (!scratch) return {};
  const fs::path file = scratch->path() / "code.so";
  std::ofstream(file, std::ios::binary) << object;
  ProcessOptions process = {.command = {"addr2line", "-e", file.string(), "-i", "-a"}};
  for (const uint64_t address : addresses) process.command.push_back(fmt::format("{:#x}", address));
  try {
    const ProcessResult result = run_process(process);
    return result.ok() ? parse(result.output) : std::map<uint64_t, int>();
  } catch (const Error&) {  // not installed
    return {};
  }
}

}  // namespace tilewright::sim
