#include "kineto_links.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace emplace::pytorch {
namespace {

using Links = std::vector<std::optional<std::size_t>>;

// Matches ids of nodes with those of calls that `id_of` returns. Counts the pairs in `pairs`, and
// in `strangers` ids that are of different operators: those are no pairs.
template <class IdOf>
Links link_by_id(std::span<const TracedNode> nodes, const KinetoTrace& trace, IdOf id_of,
                 std::size_t& pairs, std::size_t& strangers) {
  std::unordered_map<std::int64_t, std::size_t> calls;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    if (const std::int64_t id = id_of(trace.calls[i]); id != 0) {
      calls[id] = i;
    }
  }
  Links links(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto call = calls.find(nodes[i].rf_id);
    if (call == calls.end() || !nodes[i].is_operator) {
      continue;
    }
    const TracedNode& found = trace.nodes[call->second];
    if (found.name != nodes[i].name &&
        (found.is_operator || trace.calls[call->second].is_annotation)) {
      ++strangers;
    } else {
      links[i] = call->second;
      ++pairs;
    }
  }
  return links;
}

bool is_of_aten(const TracedNode& node) { return node.name.starts_with("aten::"); }

// Links the other operators between two of aten:: that are linked, or before the first or behind
// the last: operators of one name in their order, if there are as many on both sides. Behind the
// last there may be more calls, and before the first, of which the last ones count.
void link_between(std::span<const TracedNode> nodes, std::pair<std::size_t, std::size_t> of_nodes,
                  const KinetoTrace& trace, std::pair<std::size_t, std::size_t> of_calls,
                  Links& links) {
  std::unordered_map<std::string_view, std::vector<std::size_t>> calls;
  for (std::size_t i = of_calls.first; i < of_calls.second; ++i) {
    calls[trace.nodes[i].name].push_back(i);
  }
  std::unordered_map<std::string_view, std::vector<std::size_t>> operators;
  for (std::size_t i = of_nodes.first; i < of_nodes.second; ++i) {
    if (nodes[i].is_operator && !is_of_aten(nodes[i])) {
      operators[nodes[i].name].push_back(i);
    }
  }
  const bool is_first = of_nodes.first == 0;
  const bool is_last = of_nodes.second == nodes.size();
  for (const auto& [name, positions] : operators) {
    const std::vector<std::size_t>& found = calls[name];
    if (found.size() == positions.size() ||
        (found.size() > positions.size() && (is_first || is_last))) {
      const std::size_t skipped = is_first ? found.size() - positions.size() : 0;
      for (std::size_t k = 0; k < positions.size(); ++k) {
        links[positions[k]] = found[skipped + k];
      }
    }
  }
}

// Finds the names of all operators of aten::, in their order, in those of the calls: Knuth, Morris
// and Pratt, "Fast pattern matching in strings", 1977. Then those of others in between.
Links link_by_sequence(std::span<const TracedNode> nodes, const KinetoTrace& trace, bool& found) {
  // Not those that call themselves again, of which some traces tell the outer one only.
  const auto operators_of = [](std::span<const TracedNode> list) {
    std::vector<std::size_t> positions;
    std::unordered_map<std::int64_t, std::size_t> position_of;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto caller = position_of.find(list[i].parent);
      const bool is_again =
          caller != position_of.end() && list[caller->second].name == list[i].name;
      if (is_of_aten(list[i]) && !is_again) {
        positions.push_back(i);
      }
      position_of[list[i].id] = i;
    }
    return positions;
  };
  const std::vector<std::size_t> pattern = operators_of(nodes);
  const std::vector<std::size_t> text = operators_of(trace.nodes);
  Links links(nodes.size());
  std::vector<std::size_t> border(pattern.size(), 0);
  for (std::size_t i = 1, length = 0; i < pattern.size();) {
    if (nodes[pattern[i]].name == nodes[pattern[length]].name) {
      border[i++] = ++length;
    } else if (length > 0) {
      length = border[length - 1];
    } else {
      ++i;
    }
  }
  std::size_t matched = 0;
  for (std::size_t i = 0; i < text.size() && matched < pattern.size(); ++i) {
    while (matched > 0 && trace.nodes[text[i]].name != nodes[pattern[matched]].name) {
      matched = border[matched - 1];
    }
    matched += trace.nodes[text[i]].name == nodes[pattern[matched]].name ? 1 : 0;
    if (matched < pattern.size()) {
      continue;
    }
    found = true;
    const std::size_t first = i + 1 - pattern.size();
    const auto node_at = [&](std::size_t k) {
      return k < pattern.size() ? pattern[k] : nodes.size();
    };
    const auto call_at = [&](std::size_t k) {
      return first + k < text.size() ? text[first + k] : trace.nodes.size();
    };
    link_between(nodes, {0, pattern[0]}, trace, {first > 0 ? text[first - 1] + 1 : 0, text[first]},
                 links);
    for (std::size_t k = 0; k < pattern.size(); ++k) {
      links[pattern[k]] = text[first + k];
      link_between(nodes, {node_at(k) + 1, node_at(k + 1)}, trace, {call_at(k) + 1, call_at(k + 1)},
                   links);
    }
  }
  return links;
}

}  // namespace

Links link_calls(std::span<const TracedNode> nodes, const KinetoTrace& trace,
                 const std::string& source) {
  std::size_t pairs = 0;
  std::size_t strangers = 0;
  Links links = link_by_id(
      nodes, trace, [](const TimedCall& call) { return call.rf_id; }, pairs, strangers);
  if (pairs > strangers) {
    return links;
  }
  pairs = 0;
  strangers = 0;
  links = link_by_id(
      nodes, trace, [](const TimedCall& call) { return call.external; }, pairs, strangers);
  if (pairs > 0 && strangers == 0) {
    return links;
  }
  bool found = false;
  links = link_by_sequence(nodes, trace, found);
  if (found) {
    return links;
  }
  throw Error(
      ErrorCode::kFormat,
      fmt::format("{}: /traceEvents: no cpu_op has a 'Record function id' of the execution "
                  "trace, none an 'External id' that names the same operator, and no run of "
                  "them has the names of its operators; record both traces of one run",
                  source));
}

}  // namespace emplace::pytorch
