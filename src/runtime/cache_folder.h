// Whether a folder is safe to load code from.
#pragma once

#include "runtime/owned_fd.h"

#include <filesystem>
#include <optional>
#include <string>

namespace tilewright {

// Why others than this user (or root) could put files into `folder` or exchange it for another; nothing when they
// cannot. A folder that does not exist yet is judged by the folders above it.
std::optional<std::string> why_unsafe(const std::filesystem::path& folder);

// Opens `folder`, creating it with mode 0700 where it is missing.
// `unsafe`: others could plant code; `unusable`: cannot be created or opened, with the reason.
struct OpenedFolder {
  OwnedFd fd;
  std::filesystem::path path;  // without symbolic links
  std::string unsafe = {};
  std::string unusable = {};
};
OpenedFolder open_private_folder(const std::filesystem::path& folder);

}  // namespace tilewright
