// What is wrong with a launch, in terms of the simulated text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::sim {

// A place in the simulated code: a line of the text (of an atom's call), or an address of the code (of an access to
// memory that the host compiler reports).
struct Site {
  uint64_t value = 0;

  static Site line(int number) { return {uint64_t(number) << 1}; }
  static Site code(const void* address) { return {reinterpret_cast<uint64_t>(address) << 1 | 1}; }
  bool is_code() const { return value & 1; }
  int line_number() const { return is_code() ? 0 : int(value >> 1); }
  uint64_t code_address() const { return is_code() ? value >> 1 : 0; }
  friend bool operator==(const Site&, const Site&) = default;
};

// A byte of memory that kernels share.
struct Memory {
  int tensor = -1;     // of the launch's; -1 - r: shared memory of the block of rank r in its cluster
  int64_t offset = 0;  // in bytes from its start
};

struct Finding {
  enum class Kind : uint8_t { deadlock, misuse, out_of_bounds, race, uninitialised };
  Kind kind;
  std::string text;
  Site site = {};
  std::vector<Memory> memory = {};  // what it is about: none or one
  struct Note {
    std::string text;
    Site site = {};
    std::vector<Memory> memory = {};  // as above
  };
  std::vector<Note> notes = {};
};

}  // namespace tilewright::sim
