#include "lang/header_words.h"

#include <regex>
#include <set>

namespace tilewright::tests {
namespace {

// Without comments and preprocessor lines.
std::string plain_text(const std::string& text) {
  return std::regex_replace(std::regex_replace(text, std::regex("//[^\n]*"), ""), std::regex("(^|\n)#[^\n]*"), "\n");
}

// The position behind the brace that closes the one at `open`.
size_t behind_braces(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

// The name of the function that `declaration` declares: what stands before the first parenthesis outside of others.
std::string function_name(const std::string& declaration) {
  static const std::regex kBefore(R"((^|[^\w:])(\w+)\s*$)"), kMember(R"(::\w+\s*$)");
  int depth = 0;
  for (size_t i = 0; i < declaration.size(); ++i) {
    if (declaration[i] == ')') --depth;
    if (declaration[i] != '(') continue;
    std::smatch match;
    const std::string before = declaration.substr(0, i);
    if (depth == 0 && std::regex_search(before, kMember)) return {};
    if (depth++ == 0 && std::regex_search(before, match, kBefore) && match[2] != "requires") return match[2];
  }
  return {};
}

void add_matches(const std::string& text, const char* prefix, std::set<std::string>& words) {
  static const std::regex kSet(R"((\w+)\s*=[^=])");
  for (std::sregex_iterator it(text.begin(), text.end(), kSet), end; it != end; ++it) {
    words.insert(prefix + (*it)[1].str());
  }
}

}  // namespace

std::vector<std::string> words_of_header(const std::string& header) {
  static const std::regex kOptions(R"(struct \w+Options\s*$)"), kType(R"((class|struct|enum|namespace)\b[^(]*$)"),
      kConstant(R"(inline constexpr )"), kBraced(R"(inline constexpr \w+ (\w+)\s*$)");
  const std::string text = plain_text(header);
  std::set<std::string> words;
  std::string head;
  int depth = 0;  // of parentheses; braces in them are default arguments
  for (size_t i = text.find('{', text.find("namespace tilewright::lang {")) + 1;
       i < text.size() && (depth > 0 || text[i] != '}');) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth > 0 || (text[i] != '{' && text[i] != ';')) {
      head += text[i++];
      continue;
    }
    // The braces of an initialiser belong to the declaration.
    const size_t next = text[i] == '{' ? behind_braces(text, i) : i + 1;
    std::smatch match;
    if (std::regex_search(head, match, kOptions)) {
      add_matches(text.substr(i, next - i), ".", words);
    } else if (std::regex_search(head, match, kBraced)) {
      words.insert("T::" + match[1].str());
    } else if (std::regex_search(head, kConstant)) {
      add_matches(head + ";", "T::", words);
    } else if (!std::regex_search(head, kType) || head.find("template") != std::string::npos) {
      if (const std::string name = function_name(head); !name.empty()) words.insert("T::" + name);
    }
    i = next;
    head.clear();
  }
  return {words.begin(), words.end()};
}

}  // namespace tilewright::tests
