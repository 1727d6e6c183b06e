#include "runtime/cache_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

bool trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

// One element of the way to the folder. `last`: the folder itself, which must be ours and writable by nobody else.
std::optional<std::string> why_element_unsafe(const fs::path& path, const struct stat& info, bool last) {
  const std::string owner = fmt::format("{} belongs to user {}", path.string(), info.st_uid);
  if (!trusted(info.st_uid)) return owner;
  if (S_ISLNK(info.st_mode)) return std::nullopt;  // its mode means nothing; what it points to is checked in turn
  if (!S_ISDIR(info.st_mode)) return fmt::format("{} is not a folder", path.string());
  if (last && info.st_uid != ::geteuid()) return owner;
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return std::nullopt;
  // In a sticky folder such as /tmp others can add files, but not exchange ours.
  if (!last && (info.st_mode & S_ISVTX) != 0) return std::nullopt;
  return fmt::format("{} can be written by others (mode {:o}); `chmod go-w` it", path.string(), info.st_mode & 07777);
}

std::optional<std::string> why_way_unsafe(const fs::path& folder) {
  fs::path way;
  for (const fs::path& element : folder) {
    if (element.empty()) continue;
    way /= element;
    struct stat info;
    if (::lstat(way.c_str(), &info) != 0) return std::nullopt;  // from here on it is created by us, or fails to open
    if (auto reason = why_element_unsafe(way, info, way == folder)) return reason;
  }
  return std::nullopt;
}

// As mkdir -p, each new folder private. 0 or an errno.
int create_folders(const fs::path& folder) {
  fs::path way;
  for (const fs::path& element : folder) {
    way /= element;
    if (::mkdir(way.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int error = errno;
    if (!fs::exists(way)) return error;  // on a read-only file system mkdir of what exists says EROFS
  }
  return 0;
}

}  // namespace

std::optional<std::string> why_unsafe(const fs::path& folder) {
  std::error_code error;
  const fs::path lexical = fs::absolute(folder).lexically_normal();
  // The links on the way first, then the folders they lead to.
  if (auto reason = why_way_unsafe(lexical)) return reason;
  const fs::path real = fs::weakly_canonical(lexical, error);
  return error ? std::nullopt : why_way_unsafe(real);
}

OpenedFolder open_private_folder(const fs::path& folder) {
  OpenedFolder out;
  fs::path wanted = fs::absolute(folder).lexically_normal();
  if (!wanted.has_filename()) wanted = wanted.parent_path();
  if (auto reason = why_unsafe(wanted)) {
    out.unsafe = *reason;
    return out;
  }
  if (const int error = create_folders(wanted)) {
    out.unusable = fmt::format("{} cannot be created: {}", wanted.string(), std::strerror(error));
    return out;
  }
  std::error_code error;
  out.path = fs::canonical(wanted, error);
  out.fd.reset(::open(out.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!out.fd.valid()) {
    out.unusable = fmt::format("{} cannot be opened: {}", wanted.string(), std::strerror(errno));
    return out;
  }
  // Judged again by descriptor and by the final way: it may be another folder than the one looked at before.
  struct stat info;
  if (::fstat(out.fd.get(), &info) != 0)
    out.unusable = fmt::format("{}: {}", wanted.string(), std::strerror(errno));
  else if (auto reason = why_element_unsafe(out.path, info, true))
    out.unsafe = *reason;
  else if (auto way_reason = why_way_unsafe(out.path))
    out.unsafe = *way_reason;
  return out;
}

}  // namespace tilewright
