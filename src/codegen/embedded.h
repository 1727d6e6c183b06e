// The text of include/tilewright/device/, compiled into the library.
#pragma once

#include <span>
#include <string_view>

namespace tilewright::codegen {

struct EmbeddedFile {
  std::string_view path;  // below include/tilewright/device/, e.g. "cpu/gemm.h"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();

// Empty when there is no such file.
std::string_view embedded_file(std::string_view path);

}  // namespace tilewright::codegen
