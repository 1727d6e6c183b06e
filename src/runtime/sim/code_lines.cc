#include "runtime/sim/code_lines.h"

#include "runtime/process.h"

#include <tilewright/error.h>

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tilewright::sim {

namespace fs = std::filesystem;

namespace {

// Removed with this.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& bytes, const fs::path& folder) {
    std::string name = (folder / "tilewright-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return;
    folder_ = name;
    path_ = folder_ / "code.so";
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path folder_, path_;
};

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
  const TemporaryFile file(object, temp_dir);
  ProcessOptions process = {.command = {"addr2line", "-e", file.path().string(), "-i", "-a"}};
  for (const uint64_t address : addresses) process.command.push_back(fmt::format("{:#x}", address));
  try {
    const ProcessResult result = run_process(process);
    return result.ok() ? parse(result.output) : std::map<uint64_t, int>();
  } catch (const Error&) {  // not installed
    return {};
  }
}

}  // namespace tilewright::sim
