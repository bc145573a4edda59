#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

namespace emplace::agents {
namespace {

// Device of each Inception branch before the modulus: 1x1, then 5x5, 7x7 or 3x3, double, pool. It
// keeps the two heaviest branches apart on two devices, and the double one beside the trunk.
constexpr std::array<std::size_t, 4> kBranchDevice{1, 2, 0, 3};

// Returns i if the path `scope` has an element "branch_<i>", the outermost if several.
std::optional<std::size_t> branch_of(std::string_view scope) {
  constexpr std::string_view kPrefix = "branch_";
  while (!scope.empty()) {
    const std::string_view element = scope.substr(0, scope.find('/'));
    scope.remove_prefix(std::min(scope.size(), element.size() + 1));
    if (!element.starts_with(kPrefix)) {
      continue;
    }
    const std::string_view digits = element.substr(kPrefix.size());
    std::size_t branch = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), branch);
    if (error == std::errc{} && end == digits.data() + digits.size()) {
      return branch;
    }
  }
  return std::nullopt;
}

// Returns the value of `key_of(scope)` in whose ops a group spends most of its time; the least
// among equals.
template <class KeyOf>
auto majority(const Problem& problem, GroupId group, KeyOf key_of) {
  const DeviceId device = problem.placeable_devices().front();
  std::map<decltype(key_of(std::string_view{})), double> cost_us;
  for (const OpId op : problem.grouping().members(group)) {
    cost_us[key_of(problem.graph()[static_cast<std::size_t>(op)].scope)] +=
        problem.cost_us(op, device);
  }
  return std::ranges::max_element(cost_us, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

// What a person does by hand, reading the names of the layers. Where layers are in branches, branch
// i of each block goes to device kBranchDevice[i] mod N and all else (stem, concatenations, head)
// to the first. Elsewhere the layers are cut into N contiguous pieces of equal cost, in the order
// in which they first run, so that the backward pass of a layer stays with its weights.
class HumanExpert final : public Agent {
 public:
  explicit HumanExpert(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    std::vector<std::optional<std::size_t>> branches;
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      branches.push_back(majority(problem, group, branch_of));
    }
    const bool has_branches = std::ranges::any_of(
        branches, [](const std::optional<std::size_t>& branch) { return branch.has_value(); });
    return has_branches ? spread_branches(problem, branches) : cut_layers(problem);
  }

 private:
  static Placement spread_branches(const Problem& problem,
                                   const std::vector<std::optional<std::size_t>>& branches) {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    Placement placement(problem.num_groups(), devices.front());
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      if (const auto branch = branches[static_cast<std::size_t>(group)]) {
        const std::size_t device =
            *branch < kBranchDevice.size() ? kBranchDevice[*branch] : *branch;
        placement[group] = devices[device % devices.size()];
      }
    }
    return placement;
  }

  static Placement cut_layers(const Problem& problem) {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    struct Layer {
      double cost_us = 0;
      std::vector<GroupId> groups{};
    };
    std::vector<Layer> layers;
    std::map<std::string_view, std::size_t> layer_of;
    double total_us = 0;
    for (const GroupId group : problem.group_order()) {
      const auto scope = majority(problem, group, [](std::string_view path) { return path; });
      // A group without a scope is a layer of its own.
      const std::size_t layer =
          scope.empty() ? layers.size() : layer_of.try_emplace(scope, layers.size()).first->second;
      if (layer == layers.size()) {
        layers.emplace_back();
      }
      const double cost_us = problem.group_cost_us(group, devices.front());
      layers[layer].cost_us += cost_us;
      layers[layer].groups.push_back(group);
      total_us += cost_us;
    }

    Placement placement(problem.num_groups(), devices.front());
    double before_us = 0;
    for (const Layer& layer : layers) {
      // A layer belongs to the piece in which its middle lies.
      const double middle = total_us > 0 ? (before_us + layer.cost_us / 2) / total_us : 0;
      const auto piece = static_cast<std::size_t>(middle * static_cast<double>(devices.size()));
      for (const GroupId group : layer.groups) {
        placement[group] = devices[std::min(piece, devices.size() - 1)];
      }
      before_us += layer.cost_us;
    }
    return placement;
  }
};

EMPLACE_REGISTER_AGENT(
    HumanExpert, {.name = "human-expert",
                  .kind = AgentKind::kExpert,
                  .summary = "branches of a block side by side, else layers in equal pieces",
                  .reference = "Addanki et al. 2019, human expert (rule of park's Inception)"});

}  // namespace
}  // namespace emplace::agents
