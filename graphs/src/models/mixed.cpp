// All families together: members 0, 1, ... are the first members of each family in turn, by name,
// then their second ones, and so on. A member for training is one of its family's for training, so
// a policy that was trained on a family and one that was trained on the mixture can be tested on
// the same graphs.

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_family.hpp>

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace {
namespace {

constexpr const char* kName = "mixed";

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const std::string& name : GraphCatalog::global().names()) {
    if (name != kName && GraphCatalog::global().find(name).is_family) {
      names.push_back(name);
    }
  }
  return names;
}

OpGraph build(const Params& params) {
  const std::vector<std::string> names = families();
  const auto member = static_cast<std::size_t>(params.get<std::int64_t>("member"));
  return GraphCatalog::global().build(
      {.name = names[member % names.size()],
       .given = {{"split", params.get<std::string>("split")},
                 {"member", fmt::format("{}", member / names.size())},
                 {"seed", fmt::format("{}", params.get<std::int64_t>("seed"))}}});
}

const GraphRegistration kRegistration({
    .name = kName,
    .summary = "members of all families in turn",
    .reference = "the families' own",
    .parameters = with_members({}),
    .build = build,
    .is_family = true,
});

}  // namespace
}  // namespace emplace
