#include "support/text_writer.h"

namespace tilewright {

const Loc* SourceMap::find(int line_1based) const {
  if (line_1based < 1 || size_t(line_1based) > locs.size()) return nullptr;
  const Loc& loc = locs[size_t(line_1based) - 1];
  return loc.known() ? &loc : nullptr;
}

void TextWriter::line(std::string_view text, const Loc& loc) {
  while (true) {
    const size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    if (!one.empty()) text_.append(size_t(depth_) * 2, ' ').append(one);
    text_ += '\n';
    map_.locs.push_back(loc);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

void TextWriter::open(std::string_view text, const Loc& loc) {
  line(text, loc);
  indent();
}

void TextWriter::close(std::string_view text) {
  unindent();
  line(text);
}

std::string TextWriter::annotated() const {
  std::string out;
  size_t begin = 0;
  const Loc* last = nullptr;
  for (const Loc& loc : map_.locs) {
    const size_t end = text_.find('\n', begin);
    out.append(text_, begin, end - begin);
    if (loc.known() && (last == nullptr || !(*last == loc))) {
      const std::string_view path = loc.path();
      const size_t slash = path.rfind('/');
      out += "  // " + std::string(slash == std::string_view::npos ? path : path.substr(slash + 1)) + ":" +
             std::to_string(loc.line);
      last = &loc;
    }
    out += '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace tilewright
