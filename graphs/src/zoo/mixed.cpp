// Families together: members 0, 1, ... are the first members of each family in turn, then their
// second ones, and so on. A member for training is one of its family's for training, so a policy
// that was trained on a family and one that was trained on the mixture can be tested on the same
// graphs.

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_family.hpp>

#include <fmt/format.h>

#include <array>
#include <string>

namespace emplace::mixed_model {
namespace {

// A list, not all that the catalog has, so that members stay what they are when families are added.
constexpr std::array kFamilies = {"cifar10", "nmt-family", "ptb", "transformer-family"};

OpGraph build(const Params& params) {
  const auto member = static_cast<std::size_t>(params.get<std::int64_t>("member"));
  return GraphCatalog::global().build(
      {.name = kFamilies[member % kFamilies.size()],
       .given = {{"split", params.get<std::string>("split")},
                 {"member", fmt::format("{}", member / kFamilies.size())},
                 {"seed", fmt::format("{}", params.get<std::int64_t>("seed"))}}});
}

const GraphRegistration kRegistration({
    .name = "mixed",
    .summary = "members of all families in turn",
    .reference = "the families' own",
    .parameters = with_members({}),
    .build = build,
    .is_family = true,
});

}  // namespace
}  // namespace emplace::mixed_model
