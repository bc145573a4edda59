#include "assemble.hpp"
#include "gradient_rules.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/gradients.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace emplace {
namespace {

std::size_t index(OpId op) { return static_cast<std::size_t>(op); }

bool is_loss(const OpGraph& graph, OpId op) {
  const std::string& kind = graph[index(op)].kind;
  const auto uses = boost::make_iterator_range(boost::out_edges(index(op), graph));
  return (kind == "softmax_cross_entropy" || kind == "add_losses") &&
         std::none_of(uses.begin(), uses.end(), [&](auto use) { return graph[use].output == 0; });
}

OpId find_loss(const OpGraph& graph) {
  std::vector<OpId> losses;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    if (is_loss(graph, op)) {
      losses.push_back(op);
    }
  }
  const std::string& name = graph[boost::graph_bundle].name;
  if (losses.empty()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("graph '{}' has no loss: an op of kind softmax_cross_entropy or "
                            "add_losses whose result nothing reads",
                            name));
  }
  if (losses.size() > 1) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("graph '{}' has {} losses, among them '{}' and '{}'; join them by an op "
                    "of kind add_losses",
                    name, losses.size(), graph[index(losses[0])].name,
                    graph[index(losses[1])].name));
  }
  return losses[0];
}

// Grows the training graph from a copy of the forward graph.
class Differentiator {
 public:
  Differentiator(const OpGraph& forward, const Optimizer& optimizer)
      : graph_(forward),
        optimizer_(optimizer),
        order_(topological_order(forward)),
        trained_(order_.size(), false),
        gradients_(order_.size()) {}

  OpGraph run() && {
    const OpId loss = find_loss(graph_);
    mark_trained();
    if (!trained_[index(loss)]) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format("graph '{}': loss '{}' depends on no variable, so there is nothing to train",
                      graph_[boost::graph_bundle].name, graph_[index(loss)].name));
    }
    gradients_[index(loss)] = {kConstantGradient};
    std::vector<std::pair<OpId, Tensor>> updates;
    // Not std::views::reverse: clang up to 15 cannot read libstdc++'s.
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      const OpId op = *at;
      if (gradients_[index(op)].empty()) {
        continue;
      }
      const Tensor gradient = sum_of_gradients(op);
      if (graph_[index(op)].kind == "variable") {
        updates.emplace_back(op, gradient);
      } else {
        differentiate(op, gradient);
      }
    }
    for (const auto& [variable, gradient] : updates) {
      update(variable, gradient);
    }
    validate(graph_, graph_[boost::graph_bundle].name);
    return std::move(graph_);
  }

 private:
  // An op is trained if it is a variable or reads something that is trained.
  void mark_trained() {
    for (const OpId op : order_) {
      const auto inputs = boost::make_iterator_range(boost::in_edges(index(op), graph_));
      trained_[index(op)] = graph_[index(op)].kind == "variable" ||
                            std::any_of(inputs.begin(), inputs.end(), [&](auto input) {
                              return graph_[input].output != Dependency::kControl &&
                                     trained_[boost::source(input, graph_)];
                            });
    }
  }

  Tensor sum_of_gradients(OpId op) {
    const auto& terms = gradients_[index(op)];
    const Op& forward = graph_[index(op)];
    const auto constants =
        std::ranges::count(terms, kConstantGradient.op, [](Tensor term) { return term.op; });
    if (terms.size() == 1 || constants == std::ssize(terms)) {
      return terms[0];
    }
    if (constants > 0) {
      fail_loss_misused(forward.name);
    }
    const Output& value = forward.outputs[0];
    const auto num_terms = static_cast<std::int64_t>(terms.size());
    const auto elements = product(value.shape);
    Op add{.name = forward.name + "/grad_sum",
           .kind = "add_n",
           .phase = Phase::kBackward,
           .shape = {num_terms, elements},
           .flops = product({num_terms - 1, elements}),
           .outputs = {make_output(value.shape, value.type)},
           .scope = forward.scope};
    return {append_op(graph_, std::move(add), terms), 0};
  }

  void differentiate(OpId op, Tensor gradient) {
    const Op& forward = graph_[index(op)];
    const GradientRule rule = find_gradient_rule(forward.kind);
    if (rule == nullptr) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("graph '{}': op '{}': no gradient rule for kind {}",
                              graph_[boost::graph_bundle].name, forward.name, forward.kind));
    }
    GradientStep step(graph_, op, gradient, trained_, gradients_);
    rule(step);
  }

  void update(OpId variable, Tensor gradient) {
    Op& maker = graph_[index(gradient.op)];
    if (maker.colocation.empty()) {
      maker.colocation = maker.name;
    }
    const Op& trained = graph_[index(variable)];
    const auto slot_bytes = product({optimizer_.slots, trained.outputs[0].bytes});
    Op op{.name = trained.name + "/update",
          .kind = "optimizer_update",
          .phase = Phase::kUpdate,
          .shape = {trained.parameters, optimizer_.slots},
          .flops = product({optimizer_.flops, trained.parameters}),
          .bytes_read = slot_bytes,
          .bytes_written = sum({slot_bytes, trained.outputs[0].bytes}),
          .persistent_bytes = slot_bytes,
          .colocation = maker.colocation,
          .scope = trained.scope};
    append_op(graph_, std::move(op), {gradient, Tensor{variable, 0}});
  }

  OpGraph graph_;
  const Optimizer& optimizer_;
  std::vector<OpId> order_;                     // of the forward ops
  std::vector<bool> trained_;                   // by forward op
  std::vector<std::vector<Tensor>> gradients_;  // of each forward op's first output, to be summed
};

}  // namespace

OpGraph training_graph(const OpGraph& forward, const Optimizer& optimizer) {
  return Differentiator(forward, optimizer).run();
}

}  // namespace emplace
