// Looking at text that the compiler wrote.
#pragma once

#include <string>

namespace tilewright::testing {

// How often `word` stands in `text`, without overlaps.
inline int occurrences(const std::string& text, const std::string& word) {
  int out = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++out;
  return out;
}

}  // namespace tilewright::testing
