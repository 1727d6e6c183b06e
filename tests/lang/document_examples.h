// The runnable blocks of docs/language.md, compiled: extract_examples.cmake makes the table.
#pragma once

#include <tilewright/program.h>

#include <cstdint>
#include <span>

namespace tilewright::tests {

struct DocumentExample {
  int line;  // of the block's first line
  Program (*build)(int64_t M, int64_t N, int64_t K);
};
std::span<const DocumentExample> document_examples();

}  // namespace tilewright::tests
