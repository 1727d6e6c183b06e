#include "text_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tw {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct Line {
  char sign;  // ' ', '-' or '+'
  std::string_view text;
};

// Keeps a longest common subsequence of lines: common[i][j] is its length for the lines from i and from j on.
std::vector<Line> edit(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::vector<std::vector<int32_t>> common(a.size() + 1, std::vector<int32_t>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<Line> out;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      out.push_back({' ', a[i]}), ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      out.push_back({'-', a[i++]});
    } else {
      out.push_back({'+', b[j++]});
    }
  }
  return out;
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after, int context) {
  const std::vector<Line> all = edit(lines_of(before), lines_of(after));
  std::vector<bool> shown(all.size(), false);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].sign == ' ') continue;
    const size_t first = i - std::min(i, size_t(context)), last = std::min(all.size() - 1, i + size_t(context));
    std::fill(shown.begin() + int64_t(first), shown.begin() + int64_t(last) + 1, true);
  }
  std::string out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (shown[i]) (out += all[i].sign).append(all[i].text) += '\n';
    const bool gap_ends = !shown[i] && i + 1 < all.size() && shown[i + 1];
    if (gap_ends && !out.empty()) out += "...\n";
  }
  return out;
}

}  // namespace tw
