#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_family.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>
#include <utility>

namespace emplace {
namespace {

constexpr std::uint64_t kTrainingShare = 3;  // of four designs
constexpr std::uint64_t kSides = 4;
constexpr std::int64_t kMaxMembers = 1'000'000;
// Doubles hold all integers up to here, and bounds of parameters are doubles.
constexpr std::int64_t kMaxSeed = 9'007'199'254'740'992;

bool is_for_training(const GraphFamily& family, const Design& design) {
  return stable_hash(fmt::format("{}/{}", family.name, fmt::join(design, ","))) % kSides <
         kTrainingShare;
}

}  // namespace

std::vector<ParamSpec> with_members(std::vector<ParamSpec> parameters) {
  parameters.push_back({.name = "split",
                        .default_value = std::string("train"),
                        .choices = {"train", "test"},
                        .summary = "graphs to train on, or graphs that training never sees"});
  parameters.push_back(whole_number("member", 0, 0, kMaxMembers - 1, "which graph of the split"));
  parameters.push_back(
      whole_number("members", kDefaultMembers, 1, kMaxMembers,
                   "how many graphs, where many are meant and no member is given"));
  parameters.push_back(whole_number("seed", 0, 0, kMaxSeed, "of the draw"));
  return parameters;
}

Design member_design(const GraphFamily& family, const Params& params) {
  const auto member = params.get<std::int64_t>("member");
  const bool training = params.get<std::string>("split") == "train";
  RandomStream stream(
      stable_hash(fmt::format("{}/{}", family.name, params.get<std::int64_t>("seed"))));
  std::set<Design> seen;
  std::int64_t found = 0;
  for (int in_vain = 0; in_vain < kMaxDraws; ++in_vain) {
    Design design = family.draw(params, stream);
    if (!seen.insert(design).second || is_for_training(family, design) != training) {
      continue;
    }
    if (found == member) {
      return design;
    }
    ++found;
    in_vain = 0;
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("graph {}: member is {}, but with these parameters the split '{}' has "
                          "only {} graphs",
                          family.name, member, params.get<std::string>("split"), found));
}

GraphModel family_model(GraphFamily family) {
  const auto shared = std::make_shared<const GraphFamily>(std::move(family));
  return {.name = shared->name,
          .summary = shared->summary,
          .reference = shared->reference,
          .parameters = with_members(shared->parameters),
          .build =
              [shared](const Params& params) {
                return shared->build(params, member_design(*shared, params));
              },
          .is_family = true};
}

}  // namespace emplace
