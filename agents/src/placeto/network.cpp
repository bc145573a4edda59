#include "network.hpp"

#include <algorithm>
#include <string>

namespace emplace::agents::placeto {

using nn::Activation;
using nn::Value;

namespace {

constexpr float kMaxTransfer = 10;  // longer transfers all count as this one

}  // namespace

template <class Scalar>
PolicyNetwork<Scalar>::PolicyNetwork(const NetworkOptions& options, std::size_t num_devices)
    : options_(options) {
  // Cost, bytes and the one-hot device, or times and whether the group is on the candidate; then
  // visits, whether the group is current, and its start time.
  width_ = (options.score_candidates ? 4 : 2 + num_devices) + 3;
  const std::size_t d = width_;
  transform_ = add_mlp("transform", {d, d, d, d});
  forward_ = add_aggregator("forward", d);
  backward_ = add_aggregator("backward", d);
  if (options.single_pool) {
    pools_.push_back(add_aggregator("all", 2 * d));
  } else {
    for (const char* name : {"ancestors", "descendants", "peers"}) {
      pools_.push_back(add_aggregator(name, 2 * d));
    }
  }
  const std::size_t joined = 2 * d * (1 + pools_.size());
  const std::size_t scores = options.score_candidates ? 1 : num_devices;
  head_ = add_mlp("head", {joined, 2 * joined, joined, scores});
}

template <class Scalar>
void PolicyNetwork<Scalar>::initialize(RandomStream& random) {
  parameters_.initialize(random);
  if (options_.zero_init) {
    const nn::Layer& last = parameters_.layer(head_.back());
    std::ranges::fill(parameters_.values().subspan(last.offset, last.size()), Scalar{0});
  }
}

template <class Scalar>
typename PolicyNetwork<Scalar>::Mlp PolicyNetwork<Scalar>::add_mlp(
    const std::string& name, const std::vector<std::size_t>& widths) {
  Mlp mlp;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    mlp.push_back(parameters_.add(name + "/" + std::to_string(i), widths[i], widths[i + 1]));
  }
  return mlp;
}

template <class Scalar>
typename PolicyNetwork<Scalar>::Aggregator PolicyNetwork<Scalar>::add_aggregator(
    const std::string& name, std::size_t width) {
  return {add_mlp(name + "/message", {width, width, width}),
          add_mlp(name + "/update", {width, width, width})};
}

template <class Scalar>
Value PolicyNetwork<Scalar>::apply(nn::Tape<Scalar>& tape, const Mlp& mlp, Value x,
                                   Activation last) const {
  for (const nn::LayerId layer : mlp) {
    x = tape.affine(x, layer, layer == mlp.back() ? last : Activation::kRelu);
  }
  return x;
}

template <class Scalar>
Value PolicyNetwork<Scalar>::features(nn::Tape<Scalar>& tape, const Graph& graph,
                                      std::span<const View> views, std::size_t lanes) const {
  const Value value = tape.input(graph.size() * lanes, width_);
  const nn::MatrixView<Scalar> x = tape.value(value);
  for (std::size_t lane = 0; lane < views.size(); ++lane) {
    const Observation& observation = *views[lane].observation;
    const std::size_t candidate = views[lane].candidate;
    for (std::size_t group = 0; group < graph.size(); ++group) {
      const std::size_t row = group * lanes + lane;
      std::size_t column = 0;
      const auto device = static_cast<std::size_t>(observation.devices[group]);
      if (options_.score_candidates) {
        x(row, column++) = graph.cost_on(group, candidate);
        x(row, column++) = graph.cost_on(group, device);
        x(row, column++) = std::min(kMaxTransfer, graph.transfer(group, device, candidate));
      } else {
        x(row, column++) = graph.cost()[group];
        x(row, column++) = graph.bytes()[group];
      }
      x(row, column++) = observation.visits[group];
      x(row, column++) = group == static_cast<std::size_t>(observation.current) ? 1 : 0;
      x(row, column++) = observation.start_times[group];
      if (!options_.score_candidates) {
        x(row, column + device) = 1;
      } else if (device == candidate) {
        x(row, column) = 1;
      }
    }
  }
  return value;
}

template <class Scalar>
Value PolicyNetwork<Scalar>::after_rounds(nn::Tape<Scalar>& tape, const MessagePassing& edges,
                                          const Aggregator& aggregator, Value s,
                                          std::size_t lanes) const {
  if (edges.aggregate.rows() == 0) {
    return s;
  }
  Value x = s;
  for (int round = 0; round < options_.rounds; ++round) {
    const Value messages = apply(tape, aggregator.message, x, Activation::kRelu);
    const Value aggregated =
        apply(tape, aggregator.update, tape.segment_sum({&messages, 1}, edges.aggregate, lanes),
              Activation::kRelu);
    x = tape.segment_sum(std::array{s, aggregated}, edges.residual, lanes);
  }
  return x;
}

template <class Scalar>
void PolicyNetwork<Scalar>::list_pools(Pass& pass, const Graph& graph, std::span<const View> views,
                                       std::size_t lanes) const {
  pass.own.clear();
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    pass.members[pool].clear();
    pass.pools[pool].clear();
  }
  for (std::size_t lane = 0; lane < views.size(); ++lane) {
    const Observation& observation = *views[lane].observation;
    const auto row = [&](GroupId group) {
      return static_cast<std::int32_t>(static_cast<std::size_t>(group) * lanes + lane);
    };
    pass.own.add(0, row(observation.current));
    pass.own.end_row();
    const auto add_member = [&](std::size_t pool, GroupId group) {
      pass.pools[pool].add(0, static_cast<std::int32_t>(pass.members[pool].rows()));
      pass.members[pool].add(0, row(group));
      pass.members[pool].end_row();
    };
    // Candidates of one decision are neighbours, and so are decisions of several workers.
    const bool is_new = lane == 0 || views[lane - 1].observation->current != observation.current;
    if (is_new && !options_.single_pool) {
      graph.find_relations(observation.current, pass.relations);
    }
    for (GroupId group = 0; group < static_cast<GroupId>(graph.size()); ++group) {
      const Relation relation = options_.single_pool
                                    ? Relation::kAncestor
                                    : pass.relations[static_cast<std::size_t>(group)];
      if (relation == Relation::kAncestor) {
        add_member(0, group);
      } else if (relation == Relation::kDescendant) {
        add_member(1, group);
      } else if (relation == Relation::kPeer) {
        add_member(2, group);
      }
    }
    for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
      pass.pools[pool].end_row();
    }
  }
}

template <class Scalar>
Value PolicyNetwork<Scalar>::scores(nn::Tape<Scalar>& tape, Pass& pass, const Graph& graph,
                                    std::span<const View> views, std::size_t lanes) const {
  const Value s = apply(tape, transform_, features(tape, graph, views, lanes), Activation::kNone);
  const Value embedding =
      tape.concat(std::array{after_rounds(tape, graph.forward(), forward_, s, lanes),
                             after_rounds(tape, graph.backward(), backward_, s, lanes)});

  list_pools(pass, graph, views, lanes);
  const auto combine = options_.mean_pooling ? nn::Combine::kMean : nn::Combine::kSum;
  std::array<Value, 4> parts = {tape.segment_sum({&embedding, 1}, pass.own)};
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    const Value members = tape.segment_sum({&embedding, 1}, pass.members[pool]);
    const Value messages = apply(tape, pools_[pool].message, members, Activation::kRelu);
    const Value pooled = tape.segment_sum({&messages, 1}, pass.pools[pool], 1, combine);
    parts[1 + pool] = apply(tape, pools_[pool].update, pooled, Activation::kRelu);
  }
  return apply(tape, head_, tape.concat(std::span(parts).first(1 + pools_.size())),
               Activation::kNone);
}

// Turns the scores of a decision's candidates, which are consecutive rows, into a row of logits.
template <class Scalar>
Value PolicyNetwork<Scalar>::logits_of_scores(nn::Tape<Scalar>& tape, Lists& lists,
                                              std::size_t num_decisions, std::size_t num_devices,
                                              std::size_t lanes) const {
  lists.of_candidate.resize(std::max(lists.of_candidate.size(), num_devices));
  lists.columns.clear();
  for (std::size_t candidate = 0; candidate < num_devices; ++candidate) {
    nn::SegmentSum& rows = lists.of_candidate[candidate];
    rows.clear();
    for (std::size_t i = 0; i < num_decisions; ++i) {
      const std::size_t view = i * num_devices + candidate;
      rows.add(static_cast<std::int32_t>(view / lanes), static_cast<std::int32_t>(view % lanes));
      rows.end_row();
    }
    lists.columns.push_back(tape.segment_sum(lists.scores, rows));
  }
  return tape.concat(lists.columns);
}

template <class Scalar>
Value PolicyNetwork<Scalar>::add_stay_bias(nn::Tape<Scalar>& tape, Lists& lists,
                                           std::span<const Observation> observations,
                                           Value logits) const {
  const Value bias = tape.input(observations.size(), tape.value(logits).columns);
  lists.with_stay_bias.clear();
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const auto current = static_cast<std::size_t>(observations[i].current);
    tape.value(bias)(i, static_cast<std::size_t>(observations[i].devices[current])) =
        static_cast<Scalar>(options_.stay_bias);
    lists.with_stay_bias.add(0, static_cast<std::int32_t>(i));
    lists.with_stay_bias.add(1, static_cast<std::int32_t>(i));
    lists.with_stay_bias.end_row();
  }
  return tape.segment_sum(std::array{logits, bias}, lists.with_stay_bias);
}

template <class Scalar>
Value PolicyNetwork<Scalar>::logits(nn::Tape<Scalar>& tape, Lists& lists, const Graph& graph,
                                    std::span<const Observation> observations,
                                    std::size_t lanes) const {
  const std::size_t each = lanes_per_decision(graph.num_devices());
  lists.views.clear();
  for (const Observation& observation : observations) {
    for (std::size_t candidate = 0; candidate < each; ++candidate) {
      lists.views.push_back({&observation, candidate});
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
  const Value logits =
      options_.score_candidates
          ? logits_of_scores(tape, lists, observations.size(), graph.num_devices(), lanes)
          : lists.scores.front();
  return options_.stay_bias > 0 ? add_stay_bias(tape, lists, observations, logits) : logits;
}

template class PolicyNetwork<float>;
template class PolicyNetwork<double>;

}  // namespace emplace::agents::placeto
