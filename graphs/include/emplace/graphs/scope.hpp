#pragma once

// Scopes of ops: paths of layers, such as "mixed_5b/branch_1".

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace emplace {

/// Returns the first `depth` elements of a scope; all of it if it has no more.
inline std::string_view outer_scope(std::string_view scope, int depth) {
  std::size_t end = 0;
  for (int i = 0; i < depth && end < scope.size(); ++i) {
    end = std::min(scope.find('/', end + 1), scope.size());
  }
  return scope.substr(0, end);
}

}  // namespace emplace
