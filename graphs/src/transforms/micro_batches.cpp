#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "operators/operators.hpp"
#include "transforms/same_network.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/micro_batches.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// Variables and their updates are in a step once.
bool is_there_once(const Op& op) { return op.kind == "variable" || op.phase == Phase::kUpdate; }

class Splitter {
 public:
  Splitter(const OpGraph& whole, Parts parts)
      : whole_(whole), parts_(parts), copies_(parts.size(), IdVector<OpId, OpId>(whole_ops())) {}

  OpGraph run(const MicroBatchSchedule& schedule) && {
    graph_[boost::graph_bundle] = whole_[boost::graph_bundle];
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      add_ops(part);
    }
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      connect(part);
    }
    add_updates();
    if (schedule.order != MicroBatchSchedule::Order::kAsReady) {
      set_priorities(schedule.order);
    }
    order_passes(schedule);
    validate(graph_, graph_[boost::graph_bundle].name);
    return take(graph_);
  }

 private:
  std::size_t whole_ops() const { return boost::num_vertices(whole_); }

  const Op& op_of(OpId op, std::size_t part) const { return parts_[part].get()[index_of(op)]; }

  // Returns the label that all copies of an op carry.
  const std::string& label_of(OpId op) const {
    const Op& here = whole_[index_of(op)];
    return here.colocation.empty() ? here.name : here.colocation;
  }

  void add_ops(std::size_t part) {
    for (OpId op = 0; op < num_ops(whole_); ++op) {
      const Op& here = whole_[index_of(op)];
      if (!is_there_once(here)) {
        Op copy = op_of(op, part);
        copy.colocation = label_of(op);
        copy.micro_batch = static_cast<std::int32_t>(part);
        if (part > 0) {
          copy.name += fmt::format("#{}", part);
        }
        copies_[part][op] = static_cast<OpId>(boost::add_vertex(copy, graph_));
      } else if (here.phase != Phase::kUpdate) {
        copies_[part][op] =
            part > 0 ? copies_[0][op] : static_cast<OpId>(boost::add_vertex(here, graph_));
      }
    }
  }

  void connect(std::size_t part) {
    for (OpId op = 0; op < num_ops(whole_); ++op) {
      if (whole_[index_of(op)].phase == Phase::kUpdate ||
          (part > 0 && is_there_once(whole_[index_of(op)]))) {
        continue;
      }
      for (const auto edge : inputs_of(op)) {
        const auto producer = static_cast<OpId>(boost::source(edge, whole_));
        if (whole_[index_of(producer)].phase == Phase::kUpdate) {
          fail_to_join(whole_, whole_[index_of(op)].name, "reads what the step updates");
        }
        add_dependency(graph_, copies_[part][producer], whole_[edge].output, copies_[part][op]);
      }
    }
  }

  void add_updates() {
    for (const OpId op : topological_order(whole_)) {
      if (whole_[index_of(op)].phase != Phase::kUpdate) {
        continue;
      }
      std::vector<Tensor> inputs;
      std::vector<OpId> before;
      for (const auto edge : inputs_of(op)) {
        const auto producer = static_cast<OpId>(boost::source(edge, whole_));
        const std::int32_t output = whole_[edge].output;
        if (is_there_once(whole_[index_of(producer)])) {
          (output == Dependency::kControl) ? before.push_back(copies_[0][producer])
                                           : inputs.push_back({copies_[0][producer], output});
        } else if (output == Dependency::kControl) {
          for (const auto& copies : copies_) {
            before.push_back(copies[producer]);
          }
        } else {
          inputs.push_back(total_of({producer, output}));
        }
      }
      const auto copy = static_cast<OpId>(boost::add_vertex(whole_[index_of(op)], graph_));
      copies_[0][op] = copy;
      for (const Tensor& input : inputs) {
        add_dependency(graph_, input.op, input.output, copy);
      }
      for (const OpId producer : before) {
        add_dependency(graph_, producer, Dependency::kControl, copy);
      }
    }
  }

  // Says which ops make gradients of weights: updates read them, or what is made of them alone.
  IdVector<OpId, bool> gradients_of_weights() const {
    IdVector<OpId, bool> are(index_of(num_ops(graph_)), false);
    const std::vector<OpId> order = topological_order(graph_);
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const auto uses = boost::make_iterator_range(boost::out_edges(index_of(*at), graph_));
      are[*at] = graph_[index_of(*at)].phase == Phase::kBackward &&
                 std::ranges::all_of(uses, [&](auto edge) {
                   const auto reader = static_cast<OpId>(boost::target(edge, graph_));
                   const bool reads_it_alone = boost::in_degree(index_of(reader), graph_) == 1 ||
                                               std::ranges::binary_search(sums_, reader);
                   return graph_[index_of(reader)].phase == Phase::kUpdate ||
                          (are[reader] && reads_it_alone);
                 });
    }
    return are;
  }

  // Early micro-batches first, and of their forward ops the last, so that each goes on as far as it
  // can. Backward ops are in the order of the graph, as in frameworks' engines, so that a layer
  // ends before the next begins. A variable must not wait for what could run without it.
  void set_priorities(MicroBatchSchedule::Order order) {
    using enum MicroBatchSchedule::Order;
    enum class Rank : std::uint8_t { kLast, kForward, kBackward, kVariable };
    const IdVector<OpId, bool> waits = order == kZeroBubble
                                           ? gradients_of_weights()
                                           : IdVector<OpId, bool>(index_of(num_ops(graph_)), false);
    std::vector<OpId> by_priority;
    for (OpId op = 0; op < num_ops(graph_); ++op) {
      if (graph_[index_of(op)].phase != Phase::kUpdate) {
        by_priority.push_back(op);
      }
    }
    std::ranges::sort(by_priority, {}, [&](OpId op) {
      const Op& here = graph_[index_of(op)];
      const bool is_backward = here.phase == Phase::kBackward;
      const Rank rank = here.kind == "variable"          ? Rank::kVariable
                        : waits[op]                      ? Rank::kLast
                        : is_backward && order != kGPipe ? Rank::kBackward
                                                         : Rank::kForward;
      return std::tuple(rank, -here.micro_batch, is_backward ? -op : std::int32_t{op});
    });
    for (std::size_t at = 0; at < by_priority.size(); ++at) {
      graph_[index_of(by_priority[at])].priority = static_cast<std::int32_t>(at + 1);
    }
  }

  void order_passes(const MicroBatchSchedule& schedule) {
    const std::size_t count = parts_.size();
    if (schedule.order == MicroBatchSchedule::Order::kGPipe) {
      const std::vector<OpId> ends = ends_of(Phase::kForward);
      const std::vector<OpId> starts = starts_of(Phase::kBackward);
      for (std::size_t part = 0; part + 1 < count; ++part) {
        put_before(ends, count - 1, starts, part);
      }
    } else if (schedule.in_flight > 0) {
      const std::vector<OpId> ends = ends_of(Phase::kBackward);
      const std::vector<OpId> starts = starts_of(Phase::kForward);
      const auto in_flight = static_cast<std::size_t>(schedule.in_flight);
      for (std::size_t part = in_flight; part < count; ++part) {
        put_before(ends, part - in_flight, starts, part);
      }
    }
  }

  void put_before(const std::vector<OpId>& first, std::size_t first_part,
                  const std::vector<OpId>& then, std::size_t then_part) {
    for (const OpId before : first) {
      for (const OpId after : then) {
        add_dependency(graph_, copies_[first_part][before], Dependency::kControl,
                       copies_[then_part][after]);
      }
    }
  }

  // Returns the ops of a pass that read nothing that it makes. What reads weights alone (casts of
  // them in mixed precision) is of no micro-batch.
  std::vector<OpId> starts_of(Phase phase) const {
    return ops_of(phase, [&](OpId op) {
      bool reads_weights_alone = boost::in_degree(index_of(op), whole_) > 0;
      for (const auto edge : inputs_of(op)) {
        const auto producer = static_cast<OpId>(boost::source(edge, whole_));
        if (is_of(producer, phase)) {
          return false;
        }
        reads_weights_alone = reads_weights_alone && is_there_once(whole_[index_of(producer)]);
      }
      return !reads_weights_alone;
    });
  }

  // Returns the ops of a pass whose results nothing of it reads.
  std::vector<OpId> ends_of(Phase phase) const {
    return ops_of(phase, [&](OpId op) {
      const auto uses = boost::make_iterator_range(boost::out_edges(index_of(op), whole_));
      return std::ranges::none_of(uses, [&](auto edge) {
        return is_of(static_cast<OpId>(boost::target(edge, whole_)), phase);
      });
    });
  }

  bool is_of(OpId op, Phase phase) const {
    return whole_[index_of(op)].phase == phase && !is_there_once(whole_[index_of(op)]);
  }

  template <class Which>
  std::vector<OpId> ops_of(Phase phase, const Which& which) const {
    std::vector<OpId> ops;
    for (OpId op = 0; op < num_ops(whole_); ++op) {
      if (is_of(op, phase) && which(op)) {
        ops.push_back(op);
      }
    }
    return ops;
  }

  // Returns what updates read in place of one tensor: all copies of it in one.
  Tensor total_of(Tensor tensor) {
    const auto [known, is_new] = totals_.try_emplace({tensor.op, tensor.output});
    if (is_new) {
      known->second = is_a_sum(tensor) ? sum_of(tensor) : rows_of(tensor);
    }
    return known->second;
  }

  bool is_a_sum(Tensor tensor) const {
    const Output& whole = value_of(whole_, tensor);
    return is_floating(whole.type) && std::ranges::all_of(parts_, [&](const OpGraph& part) {
             return value_of(part, tensor).shape == whole.shape;
           });
  }

  Tensor sum_of(Tensor tensor) {
    Tensor total{copies_[0][tensor.op], tensor.output};
    for (std::size_t part = 1; part < parts_.size(); ++part) {
      total = append(tensor, part, fmt::format("accumulate#{}", part), "add_n", {},
                     {total, Tensor{copies_[part][tensor.op], tensor.output}});
    }
    return total;
  }

  Tensor rows_of(Tensor tensor) {
    std::vector<Tensor> rows;
    rows.reserve(copies_.size());
    for (const auto& copies : copies_) {
      rows.push_back({copies[tensor.op], tensor.output});
    }
    const Tensor all =
        append(tensor, parts_.size() - 1, "accumulate", "concat", AxisAttributes{.axis = 0}, rows);
    if (value_of(graph_, all).shape != value_of(whole_, tensor).shape) {
      fail_to_join(whole_, whole_[index_of(tensor.op)].name,
                   "has parts that neither add up to its result nor join to it");
    }
    return all;
  }

  // Adds an op that makes one tensor of copies of `of` up to that of `part`, on their device.
  Tensor append(Tensor of, std::size_t part, const std::string& name, std::string_view kind,
                Attributes attributes, const std::vector<Tensor>& inputs) {
    const Op& producer = whole_[index_of(of.op)];
    Op op{.name = fmt::format("{}{}/{}", producer.name,
                              of.output == 0 ? "" : fmt::format(":{}", of.output), name),
          .phase = Phase::kBackward,
          .colocation = label_of(of.op),
          .scope = producer.scope,
          .micro_batch = static_cast<std::int32_t>(part)};
    operators::define(op, kind, std::move(attributes), values_of(graph_, inputs));
    sums_.push_back(append_op(graph_, std::move(op), inputs));
    return {sums_.back(), 0};
  }

  boost::iterator_range<OpGraph::in_edge_iterator> inputs_of(OpId op) const {
    return boost::make_iterator_range(boost::in_edges(index_of(op), whole_));
  }

  const OpGraph& whole_;
  Parts parts_;
  OpGraph graph_;
  std::vector<IdVector<OpId, OpId>> copies_;  // by part
  std::map<std::pair<OpId, std::int32_t>, Tensor> totals_;
  std::vector<OpId> sums_;  // of gradients of several micro-batches; ascending
};

}  // namespace

OpGraph micro_batches(const OpGraph& whole, Parts parts, const MicroBatchSchedule& schedule) {
  EMPLACE_CHECK(!parts.empty(), "no micro-batches of '{}'", whole[boost::graph_bundle].name);
  for (const OpGraph& part : parts) {
    expect_same_network(whole, part);
  }
  return Splitter(whole, parts).run(schedule);
}

}  // namespace emplace
