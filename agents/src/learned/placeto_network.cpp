#include "placeto_network.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace emplace::agents::placeto {

using nn::Activation;
using nn::Value;

namespace {

constexpr float kMostTransfer = 10;  // beyond, more matters no more

}  // namespace

template <class Scalar>
Network<Scalar>::Network(const NetworkOptions& options, std::size_t num_devices)
    : options_(options) {
  // The group's own numbers and its device, or times and whether it is on the candidate; visits,
  // whether it is current; then what is optional.
  width_ = (options.candidates ? 4 : 2 + num_devices) + 2 + (options.start_time ? 1U : 0U) +
           (options.memory ? 1U : 0U);
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
  const std::size_t scores = options.candidates ? 1 : num_devices;
  head_ = options.small ? add_stack("head", {joined, joined, scores})
                        : add_stack("head", {joined, 2 * joined, joined, scores});
}

template <class Scalar>
void Network<Scalar>::initialize(RandomStream& random) {
  parameters_.initialize(random);
  if (options_.zero_head) {
    const nn::Layer& last = parameters_.layer(head_.back());
    std::ranges::fill(parameters_.values().subspan(last.offset, last.size()), Scalar{0});
  }
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
                                std::span<const View> views, std::size_t lanes) const {
  const Value value = tape.input(graph.size() * lanes, width_);
  const nn::MatrixView<Scalar> x = tape.value(value);
  for (std::size_t lane = 0; lane < views.size(); ++lane) {
    const Decision& decision = *views[lane].decision;
    const std::size_t candidate = views[lane].candidate;
    for (std::size_t group = 0; group < graph.size(); ++group) {
      const std::size_t row = group * lanes + lane;
      std::size_t column = 0;
      const auto device = static_cast<std::size_t>(decision.devices[group]);
      if (options_.candidates) {
        x(row, column++) = graph.cost_on(group, candidate);
        x(row, column++) = graph.cost_on(group, device);
        x(row, column++) = std::min(kMostTransfer, graph.transfer(group, device, candidate));
      } else {
        x(row, column++) = graph.cost()[group];
        x(row, column++) = graph.bytes()[group];
      }
      x(row, column++) = decision.done[group];
      x(row, column++) = group == static_cast<std::size_t>(decision.current) ? 1 : 0;
      if (options_.start_time) {
        x(row, column++) = decision.starts[group];
      }
      if (options_.memory) {
        x(row, column++) = graph.memory()[group];
      }
      if (!options_.candidates) {
        x(row, column + device) = 1;
      } else if (device == candidate) {
        x(row, column) = 1;
      }
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
                                   const Aggregator& aggregator, Value s, Pass& pass,
                                   std::size_t lanes) const {
  std::vector<Value>& levels = pass.levels;
  std::vector<Value>& said = pass.said;
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
void Network<Scalar>::list_pools(Pass& pass, const Graph& graph, std::span<const View> views,
                                 std::size_t lanes) const {
  constexpr std::size_t kPeers = 2;
  pass.own.clear();
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    pass.members[pool].clear();
    pass.pools[pool].clear();
  }
  for (std::size_t lane = 0; lane < views.size(); ++lane) {
    const Decision& decision = *views[lane].decision;
    const auto row = [&](GroupId group) {
      return static_cast<std::int32_t>(static_cast<std::size_t>(group) * lanes + lane);
    };
    pass.own.add(0, row(decision.current));
    pass.own.end_row();
    const auto add_member = [&](std::size_t pool, GroupId group) {
      pass.pools[pool].add(0, static_cast<std::int32_t>(pass.members[pool].rows()));
      pass.members[pool].add(0, row(group));
      pass.members[pool].end_row();
    };
    pass.nearest.clear();
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
        pass.nearest.emplace_back(std::abs(decision.starts[static_cast<std::size_t>(group)]),
                                  group);
      }
    }
    std::ranges::sort(pass.nearest);
    for (std::size_t i = 0; i < std::min(options_.peers, pass.nearest.size()); ++i) {
      add_member(kPeers, pass.nearest[i].second);
    }
    for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
      pass.pools[pool].end_row();
    }
  }
}

template <class Scalar>
Value Network<Scalar>::scores(nn::Tape<Scalar>& tape, Pass& pass, const Graph& graph,
                              std::span<const View> views, std::size_t lanes) const {
  const Value s = apply(tape, transform_, features(tape, graph, views, lanes), Activation::kNone);
  const auto exchanged = [&](const Messages& messages, const Aggregator& aggregator) {
    return options_.one_sweep ? after_sweep(tape, messages, aggregator, s, pass, lanes)
                              : after_rounds(tape, messages, aggregator, s, lanes);
  };
  const Value embedding =
      tape.concat(std::array{exchanged(graph.down(), down_), exchanged(graph.up(), up_)});

  list_pools(pass, graph, views, lanes);
  const auto combine = options_.means ? nn::Combine::kMean : nn::Combine::kSum;
  std::array<Value, 4> parts = {tape.sum_rows({&embedding, 1}, pass.own)};
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    const Value members = tape.sum_rows({&embedding, 1}, pass.members[pool]);
    const Value said = apply(tape, pools_[pool].message, members, Activation::kRelu);
    const Value pooled = tape.sum_rows({&said, 1}, pass.pools[pool], 1, combine);
    parts[1 + pool] = apply(tape, pools_[pool].update, pooled, Activation::kRelu);
  }
  return apply(tape, head_, tape.concat(std::span(parts).first(1 + pools_.size())),
               Activation::kNone);
}

// Puts the scores of a decision's candidates, which are rows one after the other, side by side.
template <class Scalar>
Value Network<Scalar>::by_candidate(nn::Tape<Scalar>& tape, Lists& lists, std::size_t num_decisions,
                                    std::size_t num_devices, std::size_t lanes) const {
  lists.of_candidate.resize(std::max(lists.of_candidate.size(), num_devices));
  lists.columns.clear();
  for (std::size_t candidate = 0; candidate < num_devices; ++candidate) {
    nn::RowSums& rows = lists.of_candidate[candidate];
    rows.clear();
    for (std::size_t i = 0; i < num_decisions; ++i) {
      const std::size_t view = i * num_devices + candidate;
      rows.add(static_cast<std::int32_t>(view / lanes), static_cast<std::int32_t>(view % lanes));
      rows.end_row();
    }
    lists.columns.push_back(tape.sum_rows(lists.scores, rows));
  }
  return tape.concat(lists.columns);
}

template <class Scalar>
Value Network<Scalar>::plus_stay(nn::Tape<Scalar>& tape, Lists& lists,
                                 std::span<const Decision> decisions, Value logits) const {
  const Value stay = tape.input(decisions.size(), tape.value(logits).columns);
  lists.with_stay.clear();
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const auto current = static_cast<std::size_t>(decisions[i].current);
    tape.value(stay)(i, static_cast<std::size_t>(decisions[i].devices[current])) =
        static_cast<Scalar>(options_.stay);
    lists.with_stay.add(0, static_cast<std::int32_t>(i));
    lists.with_stay.add(1, static_cast<std::int32_t>(i));
    lists.with_stay.end_row();
  }
  return tape.sum_rows(std::array{logits, stay}, lists.with_stay);
}

template <class Scalar>
Value Network<Scalar>::logits(nn::Tape<Scalar>& tape, Lists& lists, const Graph& graph,
                              std::span<const Decision> decisions, std::size_t lanes) const {
  const std::size_t each = lanes_per_decision(graph.num_devices());
  lists.views.clear();
  for (const Decision& decision : decisions) {
    for (std::size_t candidate = 0; candidate < each; ++candidate) {
      lists.views.push_back({&decision, candidate});
    }
  }
  lists.scores.clear();
  for (std::span<const View> views = lists.views; !views.empty();) {
    const std::size_t count = std::min(lanes, views.size());
    if (lists.scores.size() == lists.passes.size()) {
      lists.passes.emplace_back();
    }
    lists.scores.push_back(
        scores(tape, lists.passes[lists.scores.size()], graph, views.first(count), lanes));
    views = views.subspan(count);
  }
  Value logits = options_.candidates
                     ? by_candidate(tape, lists, decisions.size(), graph.num_devices(), lanes)
                     : lists.scores.front();
  if (options_.logit_bound > 0) {
    logits = tape.bound(logits, 1, options_.logit_bound);
  }
  return options_.stay > 0 ? plus_stay(tape, lists, decisions, logits) : logits;
}

template class Network<float>;
template class Network<double>;

}  // namespace emplace::agents::placeto
