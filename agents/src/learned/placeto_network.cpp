#include "placeto_network.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace emplace::agents::placeto {

using nn::Activation;
using nn::Value;

template <class Scalar>
Network<Scalar>::Network(const NetworkOptions& options, std::size_t num_devices)
    : options_(options), num_devices_(num_devices) {
  // Cost, bytes, visits, whether it is current; then what is optional; then the device.
  width_ = 4 + (options.start_time ? 1U : 0U) + (options.memory ? 1U : 0U) + num_devices;
  const std::size_t d = width_;
  transform_ =
      options.small ? add_stack("transform", {d, d, d}) : add_stack("transform", {d, d, d, d});
  down_ = add_aggregator("down", d);
  up_ = add_aggregator("up", d);
  if (options.pools_around) {
    for (const char* name : {"ancestors", "descendants", "peers"}) {
      pools_.push_back(add_aggregator(name, 2 * d));
    }
  } else {
    pools_.push_back(add_aggregator("all", 2 * d));
  }
  const std::size_t joined = 2 * d * (1 + pools_.size());
  head_ = options.small ? add_stack("head", {joined, joined, num_devices})
                        : add_stack("head", {joined, 2 * joined, joined, num_devices});
}

template <class Scalar>
typename Network<Scalar>::Stack Network<Scalar>::add_stack(const std::string& name,
                                                           const std::vector<std::size_t>& widths) {
  Stack stack;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    stack.push_back(parameters_.add(name + "/" + std::to_string(i), widths[i], widths[i + 1]));
  }
  return stack;
}

template <class Scalar>
typename Network<Scalar>::Aggregator Network<Scalar>::add_aggregator(const std::string& name,
                                                                     std::size_t width) {
  return {add_stack(name + "/message", {width, width, width}),
          add_stack(name + "/update", {width, width, width})};
}

template <class Scalar>
Value Network<Scalar>::apply(nn::Tape<Scalar>& tape, const Stack& stack, Value x,
                             Activation last) const {
  for (const nn::LayerId layer : stack) {
    x = tape.affine(x, layer, layer == stack.back() ? last : Activation::kRelu);
  }
  return x;
}

template <class Scalar>
Value Network<Scalar>::features(nn::Tape<Scalar>& tape, const Graph& graph,
                                std::span<const Decision> decisions, std::size_t lanes) const {
  const Value value = tape.input(graph.size() * lanes, width_);
  const nn::MatrixView<Scalar> x = tape.value(value);
  for (std::size_t lane = 0; lane < decisions.size(); ++lane) {
    const Decision& decision = decisions[lane];
    for (std::size_t group = 0; group < graph.size(); ++group) {
      const std::size_t row = group * lanes + lane;
      std::size_t column = 0;
      x(row, column++) = graph.cost()[group];
      x(row, column++) = graph.bytes()[group];
      x(row, column++) = decision.done[group];
      x(row, column++) = group == static_cast<std::size_t>(decision.current) ? 1 : 0;
      if (options_.start_time) {
        x(row, column++) = decision.starts[group];
      }
      if (options_.memory) {
        x(row, column++) = graph.memory()[group];
      }
      x(row, column + static_cast<std::size_t>(decision.devices[group])) = 1;
    }
  }
  return value;
}

template <class Scalar>
Value Network<Scalar>::after_rounds(nn::Tape<Scalar>& tape, const Messages& messages,
                                    const Aggregator& aggregator, Value s,
                                    std::size_t lanes) const {
  if (messages.heard.rows() == 0) {
    return s;
  }
  Value x = s;
  for (int round = 0; round < options_.rounds; ++round) {
    const Value said = apply(tape, aggregator.message, x, Activation::kRelu);
    const Value heard = apply(tape, aggregator.update,
                              tape.sum_rows({&said, 1}, messages.heard, lanes), Activation::kRelu);
    x = tape.sum_rows(std::array{s, heard}, messages.joined, lanes);
  }
  return x;
}

template <class Scalar>
Value Network<Scalar>::after_sweep(nn::Tape<Scalar>& tape, const Messages& messages,
                                   const Aggregator& aggregator, Value s, Lists& lists,
                                   std::size_t lanes) const {
  std::vector<Value>& levels = lists.levels;
  std::vector<Value>& said = lists.said;
  levels.clear();
  said.clear();
  for (const Messages::Level& level : messages.levels) {
    if (levels.empty()) {
      levels.push_back(tape.sum_rows({&s, 1}, level.joined, lanes));
    } else {
      said.push_back(apply(tape, aggregator.message, levels.back(), Activation::kRelu));
      const Value heard = apply(tape, aggregator.update, tape.sum_rows(said, level.heard, lanes),
                                Activation::kRelu);
      levels.push_back(tape.sum_rows(std::array{s, heard}, level.joined, lanes));
    }
  }
  return tape.sum_rows(levels, messages.from_levels, lanes);
}

template <class Scalar>
void Network<Scalar>::list_pools(Lists& lists, const Graph& graph,
                                 std::span<const Decision> decisions, std::size_t lanes) const {
  constexpr std::size_t kPeers = 2;
  lists.own.clear();
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    lists.members[pool].clear();
    lists.pools[pool].clear();
  }
  for (std::size_t lane = 0; lane < decisions.size(); ++lane) {
    const Decision& decision = decisions[lane];
    const auto row = [&](GroupId group) {
      return static_cast<std::int32_t>(static_cast<std::size_t>(group) * lanes + lane);
    };
    lists.own.add(0, row(decision.current));
    lists.own.end_row();
    const auto add_member = [&](std::size_t pool, GroupId group) {
      lists.pools[pool].add(0, static_cast<std::int32_t>(lists.members[pool].rows()));
      lists.members[pool].add(0, row(group));
      lists.members[pool].end_row();
    };
    lists.nearest.clear();
    for (GroupId group = 0; group < static_cast<GroupId>(graph.size()); ++group) {
      if (!options_.pools_around) {
        add_member(0, group);
      } else if (graph.reaches(group, decision.current)) {
        add_member(0, group);
      } else if (graph.reaches(decision.current, group)) {
        add_member(1, group);
      } else if (group == decision.current) {
        continue;
      } else if (options_.peers == 0) {
        add_member(kPeers, group);
      } else {
        // Starts count from that of the current group on.
        lists.nearest.emplace_back(std::abs(decision.starts[static_cast<std::size_t>(group)]),
                                   group);
      }
    }
    std::ranges::sort(lists.nearest);
    for (std::size_t i = 0; i < std::min(options_.peers, lists.nearest.size()); ++i) {
      add_member(kPeers, lists.nearest[i].second);
    }
    for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
      lists.pools[pool].end_row();
    }
  }
}

template <class Scalar>
Value Network<Scalar>::logits(nn::Tape<Scalar>& tape, Lists& lists, const Graph& graph,
                              std::span<const Decision> decisions, std::size_t lanes) const {
  const Value s =
      apply(tape, transform_, features(tape, graph, decisions, lanes), Activation::kNone);
  const auto exchanged = [&](const Messages& messages, const Aggregator& aggregator) {
    return options_.one_sweep ? after_sweep(tape, messages, aggregator, s, lists, lanes)
                              : after_rounds(tape, messages, aggregator, s, lanes);
  };
  const Value embedding =
      tape.concat(std::array{exchanged(graph.down(), down_), exchanged(graph.up(), up_)});

  list_pools(lists, graph, decisions, lanes);
  const auto combine = options_.means ? nn::Combine::kMean : nn::Combine::kSum;
  std::array<Value, 4> parts = {tape.sum_rows({&embedding, 1}, lists.own)};
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    const Value members = tape.sum_rows({&embedding, 1}, lists.members[pool]);
    const Value said = apply(tape, pools_[pool].message, members, Activation::kRelu);
    const Value pooled = tape.sum_rows({&said, 1}, lists.pools[pool], 1, combine);
    parts[1 + pool] = apply(tape, pools_[pool].update, pooled, Activation::kRelu);
  }
  return apply(tape, head_, tape.concat(std::span(parts).first(1 + pools_.size())),
               Activation::kNone);
}

template class Network<float>;
template class Network<double>;

}  // namespace emplace::agents::placeto
