#include "heuristic/heuristics.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/id_vector.hpp>

#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace emplace::agents {
namespace {

// Device of each Inception branch before the modulus: 1x1; 5x5, 7x7 or 3x3; double; pool. On two
// devices it separates the two most expensive branches and keeps the double one with the stem.
constexpr std::array<std::size_t, 4> kBranchDevice{1, 2, 0, 3};

// Calls `visit` with each element of the path `scope`, outermost first, until it returns true.
template <class Visit>
void visit_elements(std::string_view scope, Visit visit) {
  while (!scope.empty()) {
    const std::string_view element = scope.substr(0, scope.find('/'));
    if (visit(element)) {
      return;
    }
    scope.remove_prefix(std::min(scope.size(), element.size() + 1));
  }
}

// Returns i if the path `scope` has an element "<prefix><i>", the outermost if several.
std::optional<std::size_t> number_after(std::string_view prefix, std::string_view scope) {
  std::optional<std::size_t> result;
  visit_elements(scope, [&](std::string_view element) {
    if (!element.starts_with(prefix)) {
      return false;
    }
    const std::string_view digits = element.substr(prefix.size());
    std::uint32_t number = 0;  // small enough to be multiplied
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size()) {
      result = number;
    }
    return result.has_value();
  });
  return result;
}

std::optional<std::size_t> branch_of(std::string_view scope) {
  return number_after("branch_", scope);
}

std::optional<std::size_t> layer_of(std::string_view scope) {
  return number_after("layer_", scope);
}

bool has_element(std::string_view scope, std::string_view name) {
  bool found = false;
  visit_elements(scope, [&](std::string_view element) { return found = element == name; });
  return found;
}

// Returns the value of `key_of(scope)` whose ops take most of a group's time; the least among
// equals.
template <class KeyOf>
auto majority(const Problem& problem, GroupId group, KeyOf key_of) {
  const DeviceId device = problem.placeable_devices().front();
  std::map<decltype(key_of(std::string_view{})), double> cost_us;
  for (const OpId op : problem.grouping().members(group)) {
    cost_us[key_of(problem.op(op).scope)] += problem.cost_us(op, device);
  }
  return std::ranges::max_element(cost_us, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

// Returns the number of layers (the largest index plus 1) if any layer has steps, else 0.
std::size_t count_unrolled_layers(const OpGraph& graph) {
  std::size_t layers = 0;
  bool is_unrolled = false;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const std::string_view scope = graph[op].scope;
    if (const auto layer = layer_of(scope)) {
      layers = std::max(layers, *layer + 1);
      is_unrolled = is_unrolled || number_after("step_", scope);
    }
  }
  return is_unrolled ? layers : 0;
}

Placement spread_layers(const Problem& problem, std::size_t layers) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  const auto device_of_layer = [&](std::size_t layer) {
    return devices[devices.size() < layers ? layer * devices.size() / layers : layer];
  };
  const auto device_of = [&](std::string_view scope) {
    if (const auto layer = layer_of(scope)) {
      return device_of_layer(*layer);
    }
    const bool is_top = has_element(scope, "attention") || has_element(scope, "softmax");
    return device_of_layer(is_top ? layers - 1 : 0);
  };
  Placement placement(problem.num_groups(), devices.front());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = majority(problem, group, device_of);
  }
  return placement;
}

Placement spread_branches(const Problem& problem,
                          const IdVector<GroupId, std::optional<std::size_t>>& branches) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  Placement placement(problem.num_groups(), devices.front());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    if (const auto branch = branches[group]) {
      const std::size_t device = *branch < kBranchDevice.size() ? kBranchDevice[*branch] : *branch;
      placement[group] = devices[device % devices.size()];
    }
  }
  return placement;
}

Placement cut_layers(const Problem& problem) {
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

}  // namespace

// Places by the names of layers, as a person would. Layers that are unrolled over time ("layer_<i>"
// with "step_<t>" in it) have a device each: layer i of L, of an encoder as of a decoder, is on
// device i, or i N / L where devices are fewer; attention and softmax are with the last layer,
// embeddings and all else with the first (Wu et al. 2016). Where layers have branches, branch i of
// each block goes to device kBranchDevice[i] mod N and all else (stem, concatenations, head) to the
// first. Otherwise the layers are cut into N contiguous pieces of equal cost, in the order in which
// they first run, so that the backward pass of a layer stays with its weights.
Placement human_expert(const Problem& problem) {
  if (const std::size_t layers = count_unrolled_layers(problem.graph()); layers > 0) {
    return spread_layers(problem, layers);
  }
  IdVector<GroupId, std::optional<std::size_t>> branches;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    branches.push_back(majority(problem, group, branch_of));
  }
  const bool has_branches = std::ranges::any_of(
      branches, [](const std::optional<std::size_t>& branch) { return branch.has_value(); });
  return has_branches ? spread_branches(problem, branches) : cut_layers(problem);
}

namespace {

class HumanExpert final : public Agent {
 public:
  explicit HumanExpert(const Params&) {}

  Placement place(const Problem& problem, Evaluator&) override { return human_expert(problem); }
};

EMPLACE_REGISTER_AGENT(
    HumanExpert,
    {.name = "human-expert",
     .kind = AgentKind::kExpert,
     .summary = "one recurrent layer or one branch of a block on each device, otherwise pieces of "
                "equal cost",
     .description = "Places a model as a person would, from the names of its "
                    "layers. Layers that are unrolled over time go to one device "
                    "each. Branches of a block go to different devices. Other "
                    "models are cut into contiguous pieces of equal cost. Use it "
                    "as the baseline of the papers, for models whose ops carry "
                    "the names of layers.",
     .reference = "Addanki et al. 2019, human expert (rule of park's Inception); Wu et al. 2016, "
                  "arXiv 1609.08144 (recurrent layers)"});

}  // namespace
}  // namespace emplace::agents
