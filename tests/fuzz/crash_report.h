// Names the programs at fault when the process that runs them crashes or hangs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::fuzz {

// From here on a crash of this process, or a batch that takes longer than any should, starts the test
// RandomPrograms.SeedsThatCrash in its place, which runs by itself each seed that was running and names those that
// crash again.
void catch_crashes();

// The calling thread runs these seeds now; none: it rests.
void set_running(std::string_view what, std::span<const uint64_t> seeds);

// What the process that crashed was running; empty where none did.
std::vector<uint64_t> seeds_of_the_crash();

}  // namespace tilewright::fuzz
