#include "pytorch_calls.hpp"

#include "aten_work.hpp"
#include "formats/torch/aten.hpp"
#include "model/assemble.hpp"

#include <emplace/graphs/op_kind.hpp>

#include <algorithm>

namespace emplace::pytorch {
namespace {

constexpr std::size_t kMaxScope = 1000;  // bytes; scopes of a file made to harm nest without end

bool is_scope(const TracedNode& node) {
  return !node.is_operator && !is_operator_name(node.name) && !node.name.starts_with('[') &&
         !node.name.starts_with("Optimizer.") && !node.name.starts_with("ProfilerStep") &&
         node.inputs.empty() && node.outputs.empty();
}

Phase phase_of(const TracedNode& node, Phase outer) {
  return node.name.starts_with("autograd::")   ? Phase::kBackward
         : node.name.starts_with("Optimizer.") ? Phase::kUpdate
                                               : outer;
}

}  // namespace

Level level_of(std::string_view name) {
  return name == "innermost" ? Level::kInnermost : Level::kOutermost;
}

Calls find_ops(std::span<const TracedNode> nodes,
               std::span<const std::optional<std::size_t>> parents, Level level,
               const std::vector<bool>& launched) {
  Calls calls{.owner = std::vector<std::optional<std::size_t>>(nodes.size()),
              .callees = std::vector<std::vector<std::size_t>>(nodes.size()),
              .phase = std::vector<Phase>(nodes.size(), Phase::kForward),
              .scope = std::vector<std::string>(nodes.size()),
              .work = std::vector<Op>(nodes.size())};
  // Of the operators that a node calls, directly or not.
  std::vector<std::int64_t> flops(nodes.size(), 0);
  std::vector<std::optional<AtenRole>> role(nodes.size());
  std::vector<bool> is_split(nodes.size(), false);
  // Callees stand behind their callers.
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const TracedNode& node = nodes[i];
    Op& work = calls.work[i];
    if (node.is_operator) {
      work.kind = kind_of_aten(node.name);
      count_work(work, node);
      const AtenRole own = role_of_aten(node.name);
      const bool has_all_flops =
          op_class_of(work.kind) == OpClass::kElementwise || flops[i] >= work.flops / 2;
      is_split[i] =
          role[i] && *role[i] >= own && has_all_flops && (launched.empty() || !launched[i]);
      work.flops = work.flops > 0 ? work.flops : flops[i];
      role[i] = role[i] ? std::max(*role[i], own) : own;
    }
    if (parents[i]) {
      auto& outer = flops[*parents[i]];
      outer = sum({outer, node.is_operator ? work.flops : flops[i]});
      role[*parents[i]] = std::max(role[*parents[i]], role[i]);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto outer = parents[i];
    calls.phase[i] = phase_of(nodes[i], outer ? calls.phase[*outer] : Phase::kForward);
    calls.scope[i] = outer ? calls.scope[*outer] : "";
    if (calls.phase[i] == Phase::kForward && is_scope(nodes[i]) &&
        calls.scope[i].size() + nodes[i].name.size() < kMaxScope) {
      calls.scope[i] += (calls.scope[i].empty() ? "" : "/") + nodes[i].name;
    }
    calls.owner[i] = outer ? calls.owner[*outer] : std::nullopt;
    if (calls.owner[i]) {
      calls.callees[*calls.owner[i]].push_back(i);
    } else if (nodes[i].is_operator && !(level == Level::kInnermost && is_split[i])) {
      calls.owner[i] = i;
    }
  }
  return calls;
}

}  // namespace emplace::pytorch
