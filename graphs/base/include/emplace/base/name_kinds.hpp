#pragma once

// What else a name may be: `train inception-v3 placeto` takes an agent first, and means a graph.

#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Describes a kind of thing that has names.
struct NameKind {
  std::string_view what{};                        ///< "agent", as for throw_unknown_name()
  std::vector<std::string> (*names)() = nullptr;  ///< all of this kind
};

/// Lets throw_unknown_name() say what a name is if it is that of another kind. Call it before
/// threads start.
void tell_name_kinds(std::vector<NameKind> kinds);

}  // namespace emplace
