// The content-addressed cache of compiled kernels.
//
// An entry is one file named by its key. It holds a set of small named files and a SHA-256 over all of them and the
// key. The rules that make it safe:
//   - An entry is written under a temporary name in the same folder, synced and renamed, and never changed afterwards.
//     A reader therefore sees a whole entry or none; when several processes build one key, the last rename wins.
//   - A reader takes the bytes into memory and verifies them there, so nothing can change between check and use. A
//     truncated, damaged or exchanged entry is removed, reported as a remark and built again.
//   - Who builds a key holds a lock on one byte of the file `lock`, so that the others wait instead of compiling the
//   same
//     thing. The kernel drops the lock with its process. It saves work and guards nothing: a waiter gives up after a
//     while.
//   - Only temporaries can be left behind by a killed process; those older than a day are removed once a day.
//   - The folder belongs to this user (0700 when created here) and nobody else may write it, nor exchange a folder
//   above
//     it. A folder named by the user that breaks this is an Error; the default folder is then left alone, with a
//     remark.
//   - A full disk, a read-only folder, no folder at all: the build runs in the temporary folder, its result is used
//     without being stored, and a remark says so. A read-only folder still serves what it holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Options;

struct CacheOptions {
  std::optional<std::filesystem::path> dir = {};          // chosen by the user
  std::optional<std::filesystem::path> default_dir = {};  // used when `dir` is absent
  bool disabled = false;
  std::filesystem::path temp_dir = "/tmp";
  uint64_t max_bytes = uint64_t(1) << 30;  // beyond it the entries that were unused for longest are removed, once a day
  std::chrono::seconds stale_age = std::chrono::hours(24);
  std::chrono::milliseconds lock_patience = std::chrono::seconds(60);
};
CacheOptions cache_options(const Options& options);

// The named files of one entry: name -> bytes.
using CacheFiles = std::map<std::string, std::string>;

struct CacheStats {
  uint64_t num_entries = 0;
  uint64_t entry_bytes = 0;
  uint64_t num_temporaries = 0;
};

class Cache {
 public:
  // Throws an Error (toolchain) when `options.dir` is not safe to use. Everything else that is wrong is a remark.
  static Cache open(const CacheOptions& options);
  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;
  ~Cache();

  // All members are safe for many threads and many processes.

  // `key` is 64 hexadecimal digits (KeyBuilder::hex).
  std::optional<CacheFiles> find(const std::string& key);

  // Builds the files of one key, given an empty private folder to work in; it is removed afterwards.
  using Build = std::function<CacheFiles(const std::filesystem::path& scratch)>;
  // What `find` gives, or else what `build` gives, stored. Exceptions of `build` pass through and store nothing.
  // `build` must not ask for a key of the cache itself; it may be called a second time when the first ran out of disk.
  CacheFiles get_or_build(const std::string& key, const Build& build);

  void remove(const std::string& key);

  // Leaves `text` for people to read, in the cache folder as KEY.NAME, where NAME is a file's name without folders and
  // KEY should follow from the text. Returns the path; empty where nothing can be stored. `clear` and `trim` remove
  // such files like entries.
  std::filesystem::path keep_text(const std::string& key, const std::string& name, std::string_view text);

  // The folder in use; empty when nothing is read or stored.
  std::filesystem::path dir() const;
  CacheStats stats();
  // Removes every entry and temporary. Safe while others use the cache: what they loaded stays loaded.
  void clear();
  // Removes stale temporaries, then the entries unused for longest until `max_bytes` hold.
  void trim();

  // What did not go as it should since the last call, one sentence each.
  std::vector<std::string> take_remarks();

 private:
  struct State;
  explicit Cache(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace tilewright
