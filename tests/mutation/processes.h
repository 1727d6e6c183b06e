// Work that is shared out to processes of its own, which may crash or hang.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::mutation {

// What `work` returns for 0 .. count-1, shared out to so many processes. Throws std::runtime_error where one does not
// come to its end.
std::vector<std::string> in_processes(size_t count, int jobs, const std::function<std::string(size_t)>& work);

struct Answer {
  enum class State { done, crashed, hung };
  State state = State::done;
  std::string text;
};

// The same one after the other in one process, and in a new one behind an item that crashes or takes too long.
std::vector<Answer> one_by_one(size_t count, std::chrono::milliseconds limit,
                               const std::function<std::string(size_t)>& work);

}  // namespace tilewright::mutation
