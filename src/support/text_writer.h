// Builds generated source line by line and remembers which author position each line came from.
#pragma once

#include <tilewright/error.h>

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Line `i` (0-based) of the text came from `locs[i]`; unknown where the line is boilerplate.
struct SourceMap {
  std::vector<Loc> locs;
  const Loc* find(int line_1based) const;
};

class TextWriter {
 public:
  // Appends one line (or several, split at '\n') at the current indentation.
  void line(std::string_view text = {}, const Loc& loc = {});
  void open(std::string_view text, const Loc& loc = {});  // line(text), then indent
  void close(std::string_view text = "}");                // unindent, then line(text)
  void indent() { ++depth_; }
  void unindent() { --depth_; }

  const std::string& text() const { return text_; }
  const SourceMap& source_map() const { return map_; }
  // The text with a `// file:line` comment after each run of lines from a new author position.
  std::string annotated() const;

 private:
  std::string text_;
  SourceMap map_;
  int depth_ = 0;
};

}  // namespace tilewright
