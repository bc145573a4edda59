#pragma once

// Names for ops of a file in which several have the same.

#include <fmt/format.h>

#include <set>
#include <string>
#include <unordered_map>

namespace emplace {

/// Makes names unique.
class OpNames {
 public:
  /// Returns `name` if it was not returned before, else it with the first number behind it that
  /// makes it so: "name_2".
  std::string unique(const std::string& name) {
    std::string result = name;
    for (int& count = used_[name]; !names_.insert(result).second;) {
      result = fmt::format("{}_{}", name, ++count + 1);
    }
    return result;
  }

 private:
  std::unordered_map<std::string, int> used_;
  std::set<std::string> names_;
};

}  // namespace emplace
