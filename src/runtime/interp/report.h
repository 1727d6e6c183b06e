// The errors of a running program.
#pragma once

#include "runtime/interp/machine.h"

#include <string>

namespace tilewright::interp {

// "[3, 5]" and "(1, 0)".
std::string coordinates_text(std::span<const int64_t> coordinates);
std::string vector_text(std::span<const int64_t> values);
// "scores[3, 5]" for element number `at`.
std::string element_text(const AccessSite& site, const Array& array, size_t at);
std::string value_text(const Snapshot& snapshot);

// Where a block stands, for the end of a message: "in block (1, 0)".
std::string block_text(std::span<const int64_t> block);

[[noreturn]] void throw_outside(const AccessSite& site, std::span<const int64_t> at, bool is_store, const Array& array,
                                std::span<const int64_t> block);
[[noreturn]] void throw_uninitialised(const AccessSite& site, std::span<const int64_t> at, const Array& array,
                                      std::span<const int64_t> block);

}  // namespace tilewright::interp
