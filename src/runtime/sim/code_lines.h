// The lines of the simulated text that addresses of its code come from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace tilewright::sim {

// `object`: the shared object's bytes, with a line table; `addresses` within it. The line of the outermost function
// that an address was inlined into. Without the program addr2line (binutils) the answer is empty.
std::map<uint64_t, int> lines_of_code(const std::string& object, const std::set<uint64_t>& addresses,
                                      const std::filesystem::path& temp_dir);

}  // namespace tilewright::sim
