#include "mutation/processes.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>

namespace tilewright::mutation {

namespace {

void write_all(int to, const void* from, size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = ::write(to, at, bytes);
    if (n <= 0) ::_exit(3);
    at += n;
    bytes -= size_t(n);
  }
}

void write_item(int to, uint64_t index, const std::string& text) {
  const uint64_t head[] = {index, text.size()};
  write_all(to, head, sizeof head);
  write_all(to, text.data(), text.size());
}

// Nothing at the end of the stream, or where no byte comes for too long.
bool read_all(int from, void* to, size_t bytes, int limit_ms, bool& hung) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, limit_ms) == 0) return hung = true, false;
    const ssize_t n = ::read(from, at, bytes);
    if (n <= 0) return false;
    at += n;
    bytes -= size_t(n);
  }
  return true;
}

struct Item {
  uint64_t index = 0;
  std::string text;
};

std::optional<Item> read_item(int from, int limit_ms, bool& hung) {
  uint64_t head[2];
  if (!read_all(from, head, sizeof head, limit_ms, hung)) return std::nullopt;
  Item out{.index = head[0], .text = std::string(head[1], '\0')};
  if (!read_all(from, out.text.data(), out.text.size(), limit_ms, hung)) return std::nullopt;
  return out;
}

struct Child {
  pid_t id = -1;
  int from = -1;
};

// `body` writes to a pipe that is read here.
template <class Body>
Child start(const Body& body) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t id = ::fork();
  if (id < 0) throw std::runtime_error("no process");
  if (id == 0) {
    ::close(ends[0]);
    try {
      body(ends[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(2);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  return {id, ends[0]};
}

// Waits until one of them writes or ends.
size_t first_ready(const std::vector<Child>& children) {
  std::vector<pollfd> ends;
  for (const Child& child : children) ends.push_back({.fd = child.from, .events = POLLIN, .revents = 0});
  while (::poll(ends.data(), ends.size(), -1) <= 0) {
  }
  return size_t(std::find_if(ends.begin(), ends.end(), [](const pollfd& e) { return e.revents != 0; }) - ends.begin());
}

int end_of(const Child& child) {
  ::close(child.from);
  int status = 0;
  ::waitpid(child.id, &status, 0);
  return status;
}

}  // namespace

std::vector<std::string> in_processes(size_t count, int jobs, const std::function<std::string(size_t)>& work) {
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* const next = new (memory) std::atomic<size_t>(0);
  std::vector<Child> children;
  for (int j = 0; j < jobs; ++j) {
    children.push_back(start([&](int to) {
      for (size_t i = (*next)++; i < count; i = (*next)++) write_item(to, i, work(i));
    }));
  }
  std::vector<std::string> out(count);
  bool failed = false, hung = false;
  while (!children.empty()) {
    const size_t ready = first_ready(children);
    if (auto item = read_item(children[ready].from, -1, hung)) {
      out[size_t(item->index)] = std::move(item->text);
    } else {
      failed |= end_of(children[ready]) != 0;
      children.erase(children.begin() + std::ptrdiff_t(ready));
    }
  }
  ::munmap(memory, 4096);
  if (failed) throw std::runtime_error("a process of the run failed");
  return out;
}

std::vector<Answer> one_by_one(size_t count, std::chrono::milliseconds limit,
                               const std::function<std::string(size_t)>& work) {
  std::vector<Answer> out;
  while (out.size() < count) {
    const size_t first = out.size();
    const Child child = start([&](int to) {
      for (size_t i = first; i < count; ++i) write_item(to, i, work(i));
    });
    bool hung = false;
    while (out.size() < count) {
      auto item = read_item(child.from, int(limit.count()), hung);
      if (!item) break;
      out.push_back({Answer::State::done, std::move(item->text)});
    }
    if (out.size() < count) {
      ::kill(child.id, SIGKILL);
      out.push_back({hung ? Answer::State::hung : Answer::State::crashed, {}});
    }
    end_of(child);
  }
  return out;
}

}  // namespace tilewright::mutation
