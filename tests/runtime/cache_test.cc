#include "runtime/cache.h"

#include "runtime/test_folder.h"
#include "support/hash.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::in_child;
using test::TestFolder;

std::string key_of(int number) { return KeyBuilder().add_number(number).hex(); }

// Contents that name their key, so that a wrong entry is seen.
CacheFiles files_of(int number, size_t num_bytes = 20000) {
  std::string bytes;
  while (bytes.size() < num_bytes) bytes += std::to_string(number) + ",";
  return {{"kernel.so", bytes}, {"note", std::to_string(number)}, {"empty", ""}};
}

Cache::Build builds(int number) {
  return [number](const fs::path&) { return files_of(number); };
}
CacheFiles not_called(const fs::path&) { throw std::logic_error("built again"); }

Cache open_at(const fs::path& dir) { return Cache::open({.dir = dir}); }

class CacheTest : public testing::Test {
 protected:
  const TestFolder folder;
  const fs::path root = folder.path() / "cache";
};

TEST_F(CacheTest, stores_and_finds) {
  Cache cache = open_at(root);
  EXPECT_EQ(cache.find(key_of(1)), std::nullopt);
  fs::path scratch;
  const CacheFiles built = cache.get_or_build(key_of(1), [&](const fs::path& dir) {
    scratch = dir;
    EXPECT_TRUE(fs::is_empty(dir));
    EXPECT_EQ(fs::status(dir).permissions(), fs::perms::owner_all);
    test::write_text(dir / "left", "behind");
    return files_of(1);
  });
  EXPECT_EQ(built, files_of(1));
  EXPECT_FALSE(fs::exists(scratch));
  EXPECT_EQ(cache.find(key_of(1)), files_of(1));
  EXPECT_EQ(open_at(root).get_or_build(key_of(1), not_called), files_of(1));
  EXPECT_EQ(fs::status(root).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(cache.take_remarks().empty());
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.num_entries, 1u);
  EXPECT_GT(stats.entry_bytes, 20000u);
  EXPECT_EQ(stats.num_temporaries, 0u);
}

TEST_F(CacheTest, a_failed_build_stores_nothing) {
  Cache cache = open_at(root);
  EXPECT_THROW(cache.get_or_build(key_of(1), not_called), std::logic_error);
  EXPECT_EQ(cache.find(key_of(1)), std::nullopt);
  EXPECT_EQ(cache.stats().num_temporaries, 0u);
  EXPECT_EQ(cache.get_or_build(key_of(1), builds(1)), files_of(1));
}

TEST_F(CacheTest, keys_are_checked) {
  Cache cache = open_at(root);
  for (const std::string& key : {std::string(), std::string("../../etc/passwd"), std::string(64, 'A'),
                                 std::string(63, 'a'), std::string(63, 'a') + "/"}) {
    EXPECT_THROW(cache.find(key), Error);
    EXPECT_THROW(cache.get_or_build(key, builds(1)), Error);
    EXPECT_THROW(cache.remove(key), Error);
  }
}

TEST_F(CacheTest, clear_remove_and_trim) {
  Cache cache = open_at(root);
  for (int i = 0; i < 10; ++i) cache.get_or_build(key_of(i), builds(i));
  cache.remove(key_of(3));
  EXPECT_EQ(cache.find(key_of(3)), std::nullopt);
  EXPECT_EQ(cache.stats().num_entries, 9u);
  // Entry 5 is the oldest, entry 6 the next.
  for (int i = 5; i < 7; ++i) {
    const timespec old = {std::time(nullptr) - 3600 * (10 - i), 0}, times[2] = {old, old};
    ASSERT_EQ(::utimensat(AT_FDCWD, (cache.dir() / key_of(i)).c_str(), times, 0), 0);
  }
  Cache small = Cache::open({.dir = root, .max_bytes = 7 * 20200});
  small.trim();
  EXPECT_EQ(small.stats().num_entries, 7u);
  EXPECT_EQ(small.find(key_of(5)), std::nullopt);
  EXPECT_EQ(small.find(key_of(6)), std::nullopt);
  EXPECT_EQ(small.find(key_of(7)), files_of(7));
  small.clear();
  EXPECT_EQ(small.stats().num_entries, 0u);
}

TEST_F(CacheTest, stale_temporaries_are_removed_by_age) {
  Cache cache = open_at(root);
  const fs::path tmp = cache.dir() / "tmp";
  for (const char* name : {"old", "young"}) {
    fs::create_directories(tmp / name / "sub");
    test::write_text(tmp / name / "sub" / "file", "x");
  }
  const timespec old = {std::time(nullptr) - 2 * 24 * 3600, 0}, times[2] = {old, old};
  ASSERT_EQ(::utimensat(AT_FDCWD, (tmp / "old").c_str(), times, 0), 0);
  cache.get_or_build(key_of(1), builds(1));  // the first store of a day cleans up
  EXPECT_FALSE(fs::exists(tmp / "old"));
  EXPECT_TRUE(fs::exists(tmp / "young"));
}

// Whatever happened to an entry, it is found out, reported, and built again.
void expect_rebuilt(const fs::path& root, int number) {
  Cache cache = open_at(root);
  EXPECT_EQ(cache.find(key_of(number)), std::nullopt);
  const std::vector<std::string> remarks = cache.take_remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0], "the cache entry " + key_of(number).substr(0, 12) + " was damaged and is built again");
  EXPECT_EQ(cache.get_or_build(key_of(number), builds(number)), files_of(number));
  EXPECT_EQ(open_at(root).get_or_build(key_of(number), not_called), files_of(number));
}

TEST_F(CacheTest, truncated_entries) {
  Cache cache = open_at(root);
  cache.get_or_build(key_of(1), builds(1));
  const fs::path entry = cache.dir() / key_of(1);
  const uintmax_t size = fs::file_size(entry);
  for (const uintmax_t kept :
       {uintmax_t(0), uintmax_t(5), uintmax_t(19), uintmax_t(50), uintmax_t(51), uintmax_t(59), size / 2, size - 1}) {
    fs::resize_file(entry, kept);
    expect_rebuilt(root, 1);
  }
  std::ofstream(entry, std::ios::app) << "x";
  expect_rebuilt(root, 1);
}

TEST_F(CacheTest, flipped_bits) {
  Cache cache = open_at(root);
  cache.get_or_build(key_of(1), builds(1));
  const fs::path entry = cache.dir() / key_of(1);
  const std::string sound = test::read_text(entry);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = sound;
    // All of the head, then anywhere.
    const size_t at = i < 120 ? size_t(i) : random() % damaged.size();
    damaged[at] = char(damaged[at] ^ (1 << random() % 8));
    test::write_text(entry, damaged);
    EXPECT_EQ(cache.find(key_of(1)), std::nullopt) << "byte " << at;
    EXPECT_EQ(cache.take_remarks().size(), 1u);
  }
  test::write_text(entry, sound);
  EXPECT_EQ(cache.find(key_of(1)), files_of(1));
}

TEST_F(CacheTest, exchanged_entries) {
  Cache cache = open_at(root);
  for (int i = 1; i <= 2; ++i) cache.get_or_build(key_of(i), builds(i));
  const fs::path dir = cache.dir();
  fs::rename(dir / key_of(1), dir / "aside");
  fs::rename(dir / key_of(2), dir / key_of(1));
  fs::rename(dir / "aside", dir / key_of(2));
  expect_rebuilt(root, 1);
  expect_rebuilt(root, 2);
}

TEST_F(CacheTest, an_entry_that_is_a_link_or_a_folder_or_a_pipe) {
  Cache cache = open_at(root);
  cache.get_or_build(key_of(1), builds(1));
  const fs::path entry = cache.dir() / key_of(1), elsewhere = folder.path() / "elsewhere";
  fs::rename(entry, elsewhere);
  fs::create_symlink(elsewhere, entry);
  expect_rebuilt(root, 1);
  EXPECT_TRUE(fs::exists(elsewhere));
  fs::remove(entry);
  fs::create_directory(entry);
  expect_rebuilt(root, 1);
  fs::remove(entry);
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);  // reading one would wait for a writer
  expect_rebuilt(root, 1);
}

TEST_F(CacheTest, sixteen_processes_build_each_key_once) {
  constexpr int kNumKeys = 12, kNumProcesses = 16;
  const fs::path log = folder.path() / "log";
  std::vector<pid_t> children;
  for (int p = 0; p < kNumProcesses; ++p) {
    children.push_back(test::start_child([&, p] {
      Cache cache = open_at(root);
      for (int i = 0; i < kNumKeys; ++i) {
        const int number = (i * 5 + p) % kNumKeys;
        const CacheFiles files = cache.get_or_build(key_of(number), [&](const fs::path& dir) {
          std::ofstream(log, std::ios::app) << "x" << std::flush;
          test::write_text(dir / "work", "x");
          std::this_thread::sleep_for(5ms);
          return files_of(number);
        });
        if (files != files_of(number)) return 1;
      }
      return cache.take_remarks().empty() ? 0 : 2;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(test::wait_for(child), 0);
  EXPECT_EQ(test::read_text(log).size(), size_t(kNumKeys));
  EXPECT_EQ(open_at(root).stats().num_temporaries, 0u);
}

TEST_F(CacheTest, threads_build_each_key_once) {
  Cache cache = open_at(root);
  std::atomic<int> num_builds{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 6; ++i) {
        const CacheFiles files = cache.get_or_build(key_of(i), [&](const fs::path&) {
          ++num_builds;
          std::this_thread::sleep_for(2ms);
          return files_of(i);
        });
        if (files != files_of(i)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(num_builds, 6);
}

TEST_F(CacheTest, many_processes_without_patience_still_agree) {
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p) {
    children.push_back(test::start_child([&] {
      Cache cache = Cache::open({.dir = root, .lock_patience = 0ms});
      for (int round = 0; round < 20; ++round) {
        if (cache.get_or_build(key_of(round % 3), builds(round % 3)) != files_of(round % 3)) return 1;
        if (round % 7 == 0) cache.remove(key_of(round % 3));
      }
      return cache.take_remarks().empty() ? 0 : 2;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(test::wait_for(child), 0);
}

TEST_F(CacheTest, a_builder_that_hangs_does_not_hold_others_up) {
  Cache cache = Cache::open({.dir = root, .lock_patience = 100ms});
  const CacheFiles files = cache.get_or_build(key_of(1), [&](const fs::path&) {
    EXPECT_EQ(Cache::open({.dir = root, .lock_patience = 100ms}).get_or_build(key_of(1), builds(1)), files_of(1));
    return files_of(1);
  });
  EXPECT_EQ(files, files_of(1));
}

// Killed at random moments of building and writing: what is found is whole, and nothing stays locked.
TEST_F(CacheTest, killed_writers) {
  std::mt19937 random(7);
  constexpr size_t kBytes = 400000;
  for (int attempt = 0; attempt < 80; ++attempt) {
    const pid_t child = test::start_child([&] {
      Cache cache = open_at(root);
      for (int i = 0;; ++i) {
        const int number = i % 4;
        cache.get_or_build(key_of(number), [&](const fs::path&) { return files_of(number, kBytes); });
        cache.remove(key_of((i + 2) % 4));
      }
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(3000 + random() % 15000));
    ::kill(child, SIGKILL);
    EXPECT_EQ(test::wait_for(child), 1000 + SIGKILL);
    Cache cache = open_at(root);
    for (int number = 0; number < 4; ++number) {
      const auto found = cache.find(key_of(number));
      EXPECT_TRUE(!found || *found == files_of(number, kBytes));
    }
    EXPECT_TRUE(cache.take_remarks().empty());
  }
  Cache cache = Cache::open({.dir = root, .stale_age = 0s});
  for (int number = 0; number < 4; ++number) {
    EXPECT_EQ(cache.get_or_build(key_of(number), [&](const fs::path&) { return files_of(number, kBytes); }),
              files_of(number, kBytes));
  }
  cache.trim();
  EXPECT_EQ(cache.stats().num_temporaries, 0u);
}

// The reader goes on until it has met the entry there and gone often enough, however late a busy machine runs the
// writer.
TEST_F(CacheTest, a_reader_never_sees_half_an_entry) {
  constexpr int kChanges = 40;
  const pid_t writer = test::start_child([&] {
    Cache cache = open_at(root);
    while (true) {
      cache.get_or_build(key_of(1), [](const fs::path&) { return files_of(1, 300000); });
      std::this_thread::sleep_for(1ms);  // an entry that is removed at once is hardly ever seen
      cache.remove(key_of(1));
    }
    return 0;
  });
  Cache cache = open_at(root);
  const auto end = std::chrono::steady_clock::now() + 120s;
  int num_changes = 0, num_wrong = 0;
  for (bool was_there = false; num_changes < kChanges && std::chrono::steady_clock::now() < end;) {
    const auto found = cache.find(key_of(1));
    num_wrong += found && *found != files_of(1, 300000);
    num_changes += found.has_value() != was_there;
    was_there = found.has_value();
  }
  ::kill(writer, SIGKILL);
  test::wait_for(writer);
  EXPECT_EQ(num_wrong, 0);
  EXPECT_EQ(num_changes, kChanges) << "the entry was hardly ever there";
  EXPECT_TRUE(cache.take_remarks().empty());
}

// ---- Folders that cannot be used ----

TEST(CacheFolder, none_and_disabled) {
  Cache none = Cache::open({});
  EXPECT_EQ(none.get_or_build(key_of(1), builds(1)), files_of(1));
  EXPECT_EQ(none.find(key_of(1)), std::nullopt);
  const auto remarks = none.take_remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0], "no cache folder: neither HOME nor XDG_CACHE_HOME is set; every process compiles again");
  const TestFolder folder;
  Cache disabled = Cache::open({.dir = folder.path() / "cache", .disabled = true});
  EXPECT_EQ(disabled.get_or_build(key_of(1), builds(1)), files_of(1));
  EXPECT_FALSE(fs::exists(folder.path() / "cache"));
  EXPECT_TRUE(disabled.take_remarks().empty());
}

// The user named it: an Error. The default: not used, a remark, and the build still runs.
void expect_refused(const fs::path& dir, const std::string& reason) {
  try {
    open_at(dir);
    ADD_FAILURE() << dir << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::toolchain);
    EXPECT_NE(error.message().find(reason), std::string::npos) << error.message();
  }
  Cache cache = Cache::open({.default_dir = dir});
  EXPECT_EQ(cache.get_or_build(key_of(1), builds(1)), files_of(1));
  EXPECT_TRUE(cache.dir().empty());
  const auto remarks = cache.take_remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find(reason), std::string::npos) << remarks[0];
}

TEST(CacheFolder, writable_by_others_is_refused) {
  const TestFolder folder;
  const fs::path dir = folder.path() / "cache";
  fs::create_directory(dir);
  for (const unsigned mode : {0777u, 0722u, 0770u, 01777u}) {
    ASSERT_EQ(::chmod(dir.c_str(), mode), 0);
    expect_refused(dir, "can be written by others");
  }
  ASSERT_EQ(::chmod(dir.c_str(), 0755), 0);  // readable is all right
  EXPECT_EQ(open_at(dir).get_or_build(key_of(1), builds(1)), files_of(1));
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);  // the folder above could be exchanged
  expect_refused(dir, folder.path().string() + " can be written by others");
}

TEST(CacheFolder, a_file_is_refused) {
  const TestFolder folder;
  test::write_text(folder.path() / "file", "x");
  expect_refused(folder.path() / "file", "is not a folder");
}

TEST(CacheFolder, of_another_user_is_refused) {
  if (::geteuid() != 0) {  // who cannot give folders away finds one that is not his
    struct stat root = {};
    ASSERT_EQ(::stat("/", &root), 0);
    ASSERT_NE(root.st_uid, ::geteuid());
    return expect_refused("/", "belongs to user " + std::to_string(root.st_uid));
  }
  const TestFolder folder;
  const fs::path dir = folder.path() / "cache";
  fs::create_directory(dir);
  ASSERT_EQ(::chown(dir.c_str(), test::kNobody, test::kNobody), 0);
  expect_refused(dir, "belongs to user 65534");
  expect_refused(dir / "below", "belongs to user 65534");
  // The same seen from an ordinary user: a folder of root itself is no place for his entries.
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  EXPECT_EQ(in_child([&] {
              if (!test::become_ordinary_user()) return test::kSkip;
              expect_refused(folder.path(), "belongs to user 0");
              return testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
}

TEST(CacheFolder, links_of_others_are_refused) {
  const TestFolder folder;
  const fs::path real = folder.path() / "real", link = folder.path() / "link";
  fs::create_directory(real);
  ASSERT_EQ(::chmod(real.c_str(), 0700), 0);
  fs::create_directory_symlink(real, link);
  EXPECT_EQ(open_at(link).get_or_build(key_of(1), builds(1)), files_of(1));  // our own link leads to our own folder
  EXPECT_TRUE(fs::exists(real / "v1"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::lchown(link.c_str(), test::kNobody, test::kNobody), 0);
    expect_refused(link, "belongs to user 65534");
    expect_refused(link / "below", "belongs to user 65534");
    fs::remove(link);
    fs::create_directory_symlink(real, link);
  }
  // A link in our own folder that leads to one that others can write.
  ASSERT_EQ(::chmod(real.c_str(), 0777), 0);
  expect_refused(link, "can be written by others");
}

TEST(CacheFolder, planted_temporary_folder_is_not_followed) {
  const TestFolder folder;
  const fs::path root = folder.path() / "cache", outside = folder.path() / "outside";
  fs::create_directories(outside);
  fs::create_directories(root / "v1");
  ASSERT_EQ(::chmod(outside.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(root.c_str(), 0700), 0);
  ASSERT_EQ(::chmod((root / "v1").c_str(), 0700), 0);
  fs::create_directory_symlink(outside, root / "v1" / "tmp");
  Cache cache = open_at(root);
  EXPECT_EQ(cache.get_or_build(key_of(1), builds(1)), files_of(1));
  EXPECT_TRUE(fs::is_empty(outside));
  EXPECT_EQ(cache.take_remarks()[0], "nothing is stored in the cache folder: " + outside.string() +
                                         " can be written by others (mode 777); `chmod go-w` it");
}

TEST(CacheFolder, read_only_still_serves_what_it_holds) {
  const TestFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder.path().c_str(), test::kNobody, test::kNobody), 0);
  }
  EXPECT_EQ(in_child([&] {
              if (!test::become_ordinary_user()) return test::kSkip;
              const fs::path root = folder.path() / "cache";
              open_at(root).get_or_build(key_of(1), builds(1));
              for (const char* name : {"v1/tmp", "v1"}) ::chmod((root / name).c_str(), 0500);
              ::chmod((root / "v1/lock").c_str(), 0400);
              Cache cache = open_at(root);
              if (cache.get_or_build(key_of(1), not_called) != files_of(1)) return 1;
              if (!cache.take_remarks().empty()) return 2;
              if (cache.get_or_build(key_of(2), builds(2)) != files_of(2)) return 3;
              const auto remarks = cache.take_remarks();
              if (remarks.size() != 1 || remarks[0].find("could not be stored") == std::string::npos) return 4;
              ::chmod((root / "v1").c_str(), 0700);
              ::chmod((root / "v1/tmp").c_str(), 0700);
              // A folder that cannot even be created: a remark also where the user named it.
              ::chmod(root.c_str(), 0500);
              Cache unusable = open_at(root / "new");
              if (unusable.get_or_build(key_of(1), builds(1)) != files_of(1)) return 5;
              const auto reasons = unusable.take_remarks();
              ::chmod(root.c_str(), 0700);
              return reasons.size() == 1 && reasons[0].find("cannot be created: Permission denied") != std::string::npos
                         ? 0
                         : 6;
            }),
            0);
}

// A limit on file sizes makes write() fail as a full disk does, and needs no rights.
TEST(CacheFolder, writes_that_fail_midway) {
  const TestFolder folder;
  EXPECT_EQ(in_child([&] {
              const fs::path root = folder.path() / "cache";
              Cache cache = open_at(root);
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit = {8192, RLIM_INFINITY};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return test::kSkip;
              if (cache.get_or_build(key_of(1), builds(1)) != files_of(1)) return 1;
              const auto remarks = cache.take_remarks();
              if (remarks.size() != 1 || remarks[0].find("File too large") == std::string::npos) return 2;
              if (cache.find(key_of(1))) return 3;
              return cache.stats().num_temporaries == 0 ? 0 : 4;
            }),
            0);
}

TEST(CacheFolder, full_and_read_only_disks) {
  const TestFolder folder;
  const int code = in_child([&] {
    const fs::path disk = folder.path() / "disk", root = disk / "cache";
    fs::create_directory(disk);
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", disk.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) {
      return errno == EPERM || errno == EINVAL ? test::kSkip : 10;  // EINVAL: / is no mount, as in a chroot
    }
    Cache cache = Cache::open({.dir = root});
    if (cache.get_or_build(key_of(1), builds(1)) != files_of(1)) return 1;
    if (!cache.take_remarks().empty()) return 2;
    // Too large for the disk: first the build's own files, then the entry.
    int num_runs = 0;
    const CacheFiles files = cache.get_or_build(key_of(2), [&](const fs::path& dir) {
      ++num_runs;
      std::ofstream out(dir / "object");
      out << files_of(2, 200000)["kernel.so"];
      out.close();
      if (!out) throw std::runtime_error("no space");
      return files_of(2, 200000);
    });
    if (files != files_of(2, 200000) || num_runs != 2) return 3;
    const auto remarks = cache.take_remarks();
    if (remarks.size() != 2 || remarks[0].find(" is full ") == std::string::npos ||
        remarks[1].find("No space left on device") == std::string::npos) {
      return 4;
    }
    if (cache.find(key_of(2)) || cache.find(key_of(1)) != files_of(1)) return 5;
    if (::mount(nullptr, disk.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 11;
    Cache read_only = Cache::open({.dir = root});
    if (read_only.get_or_build(key_of(1), not_called) != files_of(1)) return 6;
    if (read_only.get_or_build(key_of(3), builds(3)) != files_of(3)) return 7;
    const auto reasons = read_only.take_remarks();
    return reasons.size() == 1 && reasons[0].find("Read-only file system") != std::string::npos ? 0 : 8;
  });
  if (code == test::kSkip) GTEST_SKIP() << "mounting needs rights, and a root folder that is a mount";
  EXPECT_EQ(code, 0);
}

TEST(CacheFolder, no_room_anywhere_is_an_error) {
  Cache cache = Cache::open({.disabled = true, .temp_dir = "/no/such/folder"});
  try {
    cache.get_or_build(key_of(1), builds(1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "no folder to compile in: /no/such/folder: No such file or directory");
  }
}

}  // namespace
}  // namespace tilewright
