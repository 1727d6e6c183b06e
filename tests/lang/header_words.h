// The words of a public header, as its text declares them.
#pragma once

#include <string>
#include <vector>

namespace tilewright::tests {

// Functions and constants of the namespace tilewright::lang, as "T::gemm", and fields of its structs named ...Options,
// as ".num_stages"; sorted, each once. Not: types, operators, members of classes, and what is in `detail`.
std::vector<std::string> words_of_header(const std::string& text);

}  // namespace tilewright::tests
