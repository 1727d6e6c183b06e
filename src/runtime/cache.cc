#include "runtime/cache.h"

#include "runtime/cache_folder.h"
#include "runtime/owned_fd.h"
#include "runtime/scratch.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/options.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Part of the folder's name: another format is another folder, and old and new versions share a cache folder in peace.
constexpr const char* kFormatFolder = "v1";
constexpr std::string_view kMagic = "tilewright-entry-1\n";
constexpr size_t kDigestBytes = 32;
constexpr size_t kKeyDigits = 64;
constexpr off_t kMaxEntryBytes = off_t(1) << 30;  // guards the reader against a planted or damaged size
constexpr std::chrono::hours kMaintenancePeriod{24};

bool is_key(std::string_view key) {
  return key.size() == kKeyDigits && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// KEY.NAME: a file of `keep_text`.
bool is_text(std::string_view name) {
  return name.size() > kKeyDigits + 1 && is_key(name.substr(0, kKeyDigits)) && name[kKeyDigits] == '.';
}

void check_key(const std::string& key) {
  if (!is_key(key)) throw internal_error({}, "\"{}\" is not a cache key", key);
}

void append_number(std::string& out, uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out += char(number >> shift & 0xff);
}

std::string checksum(std::string_view key, std::string_view body) {
  const Sha256::Digest digest = Sha256().update(key).update(body).finish();
  return std::string(digest.begin(), digest.end());
}

// magic, checksum of key and body; body = number of files, then for each the length of name and bytes, name, bytes.
std::string encode(const std::string& key, const CacheFiles& files) {
  std::string body;
  append_number(body, files.size());
  for (const auto& [name, bytes] : files) {
    append_number(body, name.size());
    append_number(body, bytes.size());
    body += name;
    body += bytes;
  }
  return std::string(kMagic) + checksum(key, body) + body;
}

struct Reader {
  std::string_view left;
  bool failed = false;

  std::string_view take(uint64_t count) {
    if (count > left.size()) failed = true;
    if (failed) return {};
    const std::string_view out = left.substr(0, count);
    left.remove_prefix(count);
    return out;
  }
  uint64_t number() {
    uint64_t out = 0;
    const std::string_view bytes = take(8);
    for (size_t i = 0; i < bytes.size(); ++i) out |= uint64_t(uint8_t(bytes[i])) << (8 * i);
    return out;
  }
};

std::optional<CacheFiles> decode(const std::string& key, std::string_view entry) {
  Reader reader{entry};
  if (reader.take(kMagic.size()) != kMagic) return std::nullopt;
  const std::string_view digest = reader.take(kDigestBytes);
  if (reader.failed || digest != checksum(key, reader.left)) return std::nullopt;
  CacheFiles files;
  for (uint64_t left = reader.number(); left > 0 && !reader.failed; --left) {
    const uint64_t name_bytes = reader.number(), file_bytes = reader.number();
    const std::string_view name = reader.take(name_bytes);
    files.emplace(name, reader.take(file_bytes));
  }
  if (reader.failed || !reader.left.empty()) return std::nullopt;
  return files;
}

// 0 or an errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(size_t(count));
  }
  return 0;
}

bool read_all(int fd, off_t size, std::string& out) {
  out.resize(size_t(size));
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::read(fd, out.data() + done, out.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += size_t(count);
  }
  return true;
}

std::string unique_name(std::string_view prefix) {
  static std::atomic<uint64_t> counter{0};
  std::random_device random;
  return fmt::format("{}-{}-{}-{:08x}", prefix, ::getpid(), counter++, random());
}

// Whether a compiler's few hundred kilobytes would have fitted.
bool has_space(const Scratch& scratch) {
  const OwnedFd fd(::open((scratch.path() / "space").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  return fd.valid() && write_all(fd.get(), std::string(size_t(1) << 20, '\0')) == 0;
}

struct FoundFile {
  std::string name;
  uint64_t num_bytes;
  timespec last_use;
  bool is_entry;
};

bool operator<(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

}  // namespace

struct Cache::State {
  CacheOptions options;
  fs::path dir;      // of this format; empty: nothing is read or stored
  fs::path tmp_dir;  // in it
  OwnedFd dir_fd;    // entries are opened relative to it, so that exchanging the path later changes nothing
  OwnedFd tmp_fd;
  std::atomic<bool> maintained{false};
  std::mutex mutex;
  std::vector<std::string> remarks;

  void remark(std::string text) {
    const std::lock_guard lock(mutex);
    if (std::find(remarks.begin(), remarks.end(), text) == remarks.end()) remarks.push_back(std::move(text));
  }
  void open_folder();
  std::optional<std::string> read(const std::string& key, bool* damaged);
  std::optional<CacheFiles> find(const std::string& key);
  void store(const std::string& key, const CacheFiles& files);
  int write_entry(const std::string& key, std::string_view entry);
  OwnedFd lock_key(const std::string& key, std::optional<CacheFiles>* found);
  CacheFiles build(const Build& build);
  CacheFiles build_in_temp_dir(const Build& build);
  std::vector<FoundFile> files() const;
  void remove_temporaries(std::chrono::seconds older_than);
  void maintain();
  void trim();
};

void Cache::State::open_folder() {
  if (options.disabled) return;
  if (!options.dir && !options.default_dir) {
    remark("no cache folder: neither HOME nor XDG_CACHE_HOME is set; every process compiles again");
    return;
  }
  const fs::path wanted = options.dir ? *options.dir : *options.default_dir;
  OpenedFolder root = open_private_folder(wanted);
  OpenedFolder opened;
  if (root.unsafe.empty() && root.unusable.empty())
    opened = open_private_folder(root.path / kFormatFolder);
  else
    opened = std::move(root);
  if (!opened.unsafe.empty() && options.dir) {
    throw toolchain_error("the cache folder {} is not private: {}", wanted.string(), opened.unsafe)
        .hint("TILEWRIGHT_CACHE_DIR names a folder of yours that nobody else can write");
  }
  if (!opened.unsafe.empty() || !opened.unusable.empty()) {
    remark(fmt::format("the cache folder is not used ({}{}); every process compiles again", opened.unsafe,
                       opened.unusable));
    return;
  }
  dir = opened.path;
  dir_fd = std::move(opened.fd);
  OpenedFolder tmp = open_private_folder(dir / "tmp");
  tmp_dir = tmp.path;
  // In a read-only folder there may be none; such a folder can still be read.
  if (tmp.unsafe.empty())
    tmp_fd = std::move(tmp.fd);
  else
    remark(fmt::format("nothing is stored in the cache folder: {}", tmp.unsafe));
}

// The bytes of an entry as they are. `damaged`: something is there that is no entry.
std::optional<std::string> Cache::State::read(const std::string& key, bool* damaged) {
  const OwnedFd fd(::openat(dir_fd.get(), key.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    *damaged = errno == ELOOP;  // a symbolic link
    return std::nullopt;
  }
  struct stat info;
  std::string out;
  const bool whole = ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
                     info.st_size <= kMaxEntryBytes && read_all(fd.get(), info.st_size, out);
  if (!whole) {
    *damaged = true;
    return std::nullopt;
  }
  // The time of last use, for trim; to a day, so that a warm start writes nothing.
  if (std::time(nullptr) - info.st_mtim.tv_sec > 24 * 3600) ::futimens(fd.get(), nullptr);
  return out;
}

std::optional<CacheFiles> Cache::State::find(const std::string& key) {
  if (dir.empty()) return std::nullopt;
  bool damaged = false;
  const std::optional<std::string> entry = read(key, &damaged);
  std::optional<CacheFiles> files;
  if (entry) files = decode(key, *entry);
  if (files || (!entry && !damaged)) return files;
  // Another process may have put a sound entry here meanwhile; then that one is built once more, which does no harm.
  remark(fmt::format("the cache entry {} was damaged and is built again", key.substr(0, 12)));
  if (::unlinkat(dir_fd.get(), key.c_str(), 0) != 0) ::unlinkat(dir_fd.get(), key.c_str(), AT_REMOVEDIR);
  return std::nullopt;
}

// 0 or an errno. The folder itself is not synced: losing a whole entry in a power cut only costs its compile.
int Cache::State::write_entry(const std::string& key, std::string_view entry) {
  if (!tmp_fd.valid()) return EROFS;
  const std::string name = unique_name("entry");
  OwnedFd fd(::openat(tmp_fd.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno;
  int error = write_all(fd.get(), entry);
  if (error == 0 && ::fsync(fd.get()) != 0) error = errno;
  fd.reset();
  if (error == 0 && ::renameat(tmp_fd.get(), name.c_str(), dir_fd.get(), key.c_str()) != 0) error = errno;
  if (error != 0) ::unlinkat(tmp_fd.get(), name.c_str(), 0);
  return error;
}

void Cache::State::store(const std::string& key, const CacheFiles& files) {
  if (dir.empty()) return;
  if (const int error = write_entry(key, encode(key, files))) {
    remark(fmt::format("a compiled kernel could not be stored in {}: {}; the next process compiles it again",
                       dir.string(), std::strerror(error)));
    return;
  }
  maintain();
}

// Waits until nobody else builds `key`, or it is there (then it lands in `found`), or patience ends. The lock is one
// byte of a shared file, chosen by the key: no lock files to clean up. Open-file-description locks exclude threads as
// well.
OwnedFd Cache::State::lock_key(const std::string& key, std::optional<CacheFiles>* found) {
  if (dir.empty()) return OwnedFd();
  OwnedFd fd(::openat(dir_fd.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return fd;
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = off_t(std::stoull(key.substr(0, 15), nullptr, 16));
  range.l_len = 1;
  const auto deadline = Clock::now() + options.lock_patience;
  for (auto pause = std::chrono::milliseconds(1); Clock::now() < deadline;) {
    if (::fcntl(fd.get(), F_OFD_SETLK, &range) == 0) {
      *found = find(key);  // built while we waited
      return fd;
    }
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return fd;  // no locks on this file system
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(16));
    *found = find(key);
    if (*found) return fd;
  }
  return fd;
}

CacheFiles Cache::State::build_in_temp_dir(const Build& build) {
  const std::optional<Scratch> scratch = Scratch::create_in(options.temp_dir);
  if (!scratch) {
    throw toolchain_error("no folder to compile in: {}: {}", options.temp_dir.string(), std::strerror(errno))
        .hint("TMPDIR names a writable folder");
  }
  return build(scratch->path());
}

CacheFiles Cache::State::build(const Build& build) {
  const std::optional<Scratch> scratch = tmp_fd.valid() ? Scratch::create_in(tmp_dir) : std::nullopt;
  if (!scratch) return build_in_temp_dir(build);
  try {
    return build(scratch->path());
  } catch (...) {
    if (has_space(*scratch)) throw;
  }
  remark(fmt::format("{} is full or was cleared during a build; compiling in {}", dir.string(),
                     options.temp_dir.string()));
  return build_in_temp_dir(build);
}

// Entries and texts.
std::vector<FoundFile> Cache::State::files() const {
  std::vector<FoundFile> out;
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(dir, ignored)) {
    const std::string name = item.path().filename().string();
    struct stat info;
    const bool is_entry = is_key(name);
    if (!is_entry && !is_text(name)) continue;
    if (::fstatat(dir_fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    out.push_back({.name = name, .num_bytes = uint64_t(info.st_size), .last_use = info.st_mtim, .is_entry = is_entry});
  }
  return out;
}

void Cache::State::remove_temporaries(std::chrono::seconds older_than) {
  if (!tmp_fd.valid()) return;
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(tmp_dir, ignored)) {
    struct stat info;
    if (::lstat(item.path().c_str(), &info) != 0) continue;
    if (std::time(nullptr) - info.st_mtim.tv_sec >= older_than.count()) fs::remove_all(item.path(), ignored);
  }
}

void Cache::State::trim() {
  if (dir.empty()) return;
  remove_temporaries(options.stale_age);
  std::vector<FoundFile> found = files();
  uint64_t total = 0;
  for (const FoundFile& file : found) total += file.num_bytes;
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.last_use < b.last_use; });
  for (const FoundFile& file : found) {
    if (total <= options.max_bytes) break;
    if (::unlinkat(dir_fd.get(), file.name.c_str(), 0) == 0) total -= file.num_bytes;
  }
}

// Trims when nobody has for a day. Only after a store, so that a warm start does not pay for it.
void Cache::State::maintain() {
  if (maintained.exchange(true)) return;
  const OwnedFd stamp(::openat(dir_fd.get(), "maintained", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat info;
  if (!stamp.valid() || ::fstat(stamp.get(), &info) != 0) return;
  const auto age = std::chrono::seconds(std::time(nullptr) - info.st_mtim.tv_sec);
  if (info.st_size > 0 && age < kMaintenancePeriod) return;
  if (::pwrite(stamp.get(), "1", 1, 0) == 1) trim();
}

Cache::Cache(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Cache Cache::open(const CacheOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->open_folder();
  return Cache(std::move(state));
}

std::optional<CacheFiles> Cache::find(const std::string& key) {
  check_key(key);
  return state_->find(key);
}

CacheFiles Cache::get_or_build(const std::string& key, const Build& build) {
  if (auto found = find(key)) return std::move(*found);
  std::optional<CacheFiles> found;
  const OwnedFd lock = state_->lock_key(key, &found);
  if (found) return std::move(*found);
  CacheFiles files = state_->build(build);
  state_->store(key, files);
  return files;
}

void Cache::remove(const std::string& key) {
  check_key(key);
  if (!state_->dir.empty()) ::unlinkat(state_->dir_fd.get(), key.c_str(), 0);
}

fs::path Cache::keep_text(const std::string& key, const std::string& name, std::string_view text) {
  check_key(key);
  if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos) {
    throw internal_error({}, "\"{}\" is no name of a file", name);
  }
  if (state_->dir.empty()) return {};
  const std::string file = key + "." + name;
  if (const int error = state_->write_entry(file, text)) {
    state_->remark(fmt::format("{} could not be stored in {}: {}", name, state_->dir.string(), std::strerror(error)));
    return {};
  }
  return state_->dir / file;
}

fs::path Cache::dir() const { return state_->dir; }

CacheStats Cache::stats() {
  CacheStats out;
  if (state_->dir.empty()) return out;
  for (const FoundFile& file : state_->files()) {
    if (!file.is_entry) continue;
    ++out.num_entries;
    out.entry_bytes += file.num_bytes;
  }
  std::error_code ignored;
  if (state_->tmp_fd.valid()) {
    for ([[maybe_unused]] const auto& item : fs::directory_iterator(state_->tmp_dir, ignored)) ++out.num_temporaries;
  }
  return out;
}

void Cache::clear() {
  if (state_->dir.empty()) return;
  state_->remove_temporaries(std::chrono::seconds(0));
  for (const FoundFile& file : state_->files()) ::unlinkat(state_->dir_fd.get(), file.name.c_str(), 0);
}

void Cache::trim() { state_->trim(); }

std::vector<std::string> Cache::take_remarks() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->remarks, {});
}

CacheOptions cache_options(const Options& options) {
  return {.dir = options.cache_dir,
          .default_dir = options.default_cache_dir,
          .disabled = options.disable_cache,
          .temp_dir = options.temp_dir};
}

}  // namespace tilewright
