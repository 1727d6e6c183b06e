// Which variable a plain name means: the last definition of that name in the order of the text. Printing and parsing
// keep the same table, so that ids are written only where a name alone would be ambiguous.
#pragma once

#include "ir/expr.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilewright::ir {

class VarNames {
 public:
  struct Entry {
    VarId id = -1;
    DType dtype = kIndex;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  void define(const std::string& name, Entry entry) {
    by_name_[name] = entry;
    by_id_[entry.id] = {name, entry.dtype};
  }
  std::optional<Entry> find(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<DType> dtype_of(VarId id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? std::nullopt : std::optional(it->second.second);
  }
  // Empty for an id that nothing defines.
  std::string_view name_of(VarId id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? std::string_view() : it->second.first;
  }

 private:
  std::map<std::string, Entry, std::less<>> by_name_;
  std::map<VarId, std::pair<std::string, DType>> by_id_;
};

}  // namespace tilewright::ir
