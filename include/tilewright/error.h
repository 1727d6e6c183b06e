// Errors and source positions, shared by every part of Tilewright and visible to kernel authors.
//
// Every failure a user can cause is an `Error`: what rule was broken, with the values, where, which declarations
// are involved, and what would be legal. `what()` is the whole report, ready to print.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// A position in an author's source. `column` is 1-based; 0 means "the whole line".
struct Loc {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;

  static Loc here(const char* file = __builtin_FILE(), int line = __builtin_LINE());
  static Loc at(std::string file, int line, int column = 0);

  bool known() const { return file != nullptr && line > 0; }
  std::string_view path() const { return file ? std::string_view(*file) : std::string_view(); }
  std::string to_string() const;  // "attention.cc:41" or "attention.cc:41:7"
  friend bool operator==(const Loc& a, const Loc& b);
};

enum class ErrorKind {
  invalid_kernel,    // a program without meaning
  invalid_argument,  // a host call with arguments that do not fit (launch, compile options)
  unsupported,       // meaningful, but not built yet (docs/status.md) or not possible on the device
  toolchain,         // a compiler, driver or file system problem outside the program
  internal,          // a defect of Tilewright
};
std::string_view to_string(ErrorKind kind);

struct Note {
  std::string text;
  Loc loc;
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, Loc loc = {});

  Error&& note(std::string text, Loc loc = {}) &&;
  Error&& hint(std::string text) &&;

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const Loc& loc() const { return loc_; }
  const std::vector<Note>& notes() const { return notes_; }
  const std::string& hint() const { return hint_; }
  // The same error at `loc` where it has no position of its own.
  Error with_loc(const Loc& loc) const;

  // The report of docs/errors.md: message, source line with caret, notes, hint.
  const char* what() const noexcept override;

 private:
  ErrorKind kind_;
  std::string message_;
  Loc loc_;
  std::vector<Note> notes_;
  std::string hint_;
  mutable std::string rendered_;
};

}  // namespace tilewright
