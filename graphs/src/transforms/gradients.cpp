#include "losses.hpp"
#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "operators/gradient_step.hpp"
#include "operators/operators.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/gradients.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {
namespace {

OpId find_loss(const OpGraph& graph) {
  std::vector<OpId> losses;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    if (is_loss(graph, op)) {
      losses.push_back(op);
    }
  }
  const std::string& name = graph[boost::graph_bundle].name;
  if (losses.empty()) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("graph '{}' has no loss: an op whose result nothing reads, of one of the "
                    "kinds {}",
                    name, fmt::join(kLosses, ", ")));
  }
  if (losses.size() > 1) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("graph '{}' has {} losses, among them '{}' and '{}'; join them by an op "
                    "of kind add_losses",
                    name, losses.size(), graph[index_of(losses[0])].name,
                    graph[index_of(losses[1])].name));
  }
  return losses[0];
}

operators::Gradient gradient_of(std::string_view kind) {
  const operators::Operator* row = operators::find(kind);
  return row == nullptr ? nullptr : row->gradient;
}

// Grows the training graph from a copy of the forward graph.
class Differentiator {
 public:
  Differentiator(const OpGraph& forward, const Optimizer& optimizer)
      : graph_(forward),
        optimizer_(optimizer),
        order_(topological_order(forward)),
        trained_(order_.size(), false),
        gradients_(order_.size()) {
    for (const OpId op : order_) {
      gradients_[op].resize(forward[index_of(op)].outputs.size());
    }
  }

  OpGraph run() && {
    const OpId loss = find_loss(graph_);
    mark_trained();
    if (!trained_[loss]) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format(
              "graph '{}': loss '{}' does not depend on any variable, so there is nothing to train",
              graph_[boost::graph_bundle].name, graph_[index_of(loss)].name));
    }
    expect_rules(loss);
    gradients_[loss][0] = {kConstantGradient};
    std::vector<std::pair<OpId, Tensor>> updates;
    // Not std::views::reverse: clang up to 15 cannot read libstdc++'s.
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      const OpId op = *at;
      auto gradients = sum_gradients(op);
      if (std::ranges::none_of(gradients, [](const auto& g) { return g.has_value(); })) {
        continue;
      }
      const std::optional<Tensor> of_first = gradients.front();
      if (of_first && graph_[index_of(op)].kind == "variable") {
        updates.emplace_back(op, *of_first);
      } else {
        differentiate(op, std::move(gradients));
      }
    }
    for (const auto& [variable, gradient] : updates) {
      update(variable, gradient);
    }
    validate(graph_, graph_[boost::graph_bundle].name);
    return take(graph_);
  }

 private:
  // An op is trained if it is a variable or reads real numbers of something that is trained.
  void mark_trained() {
    for (const OpId op : order_) {
      const auto inputs = boost::make_iterator_range(boost::in_edges(index_of(op), graph_));
      trained_[op] = graph_[index_of(op)].kind == "variable" ||
                     std::any_of(inputs.begin(), inputs.end(), [&](auto input) {
                       return has_derivative(input) && trained_[boost::source(input, graph_)];
                     });
    }
  }

  // Says whether an edge hands over real numbers: choices, counts and truth values have no
  // derivative.
  bool has_derivative(OpGraph::edge_descriptor edge) const {
    const std::int32_t output = graph_[edge].output;
    return output != Dependency::kControl &&
           is_floating(graph_[boost::source(edge, graph_)].outputs[index_of(output)].type);
  }

  // Throws if ops from a variable to the loss have no rule: for all of their kinds at once.
  void expect_rules(OpId loss) const {
    IdVector<OpId, bool> is_on_way(order_.size(), false);
    is_on_way[loss] = true;
    std::map<std::string_view, int> missing;
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      const Op& op = graph_[index_of(*at)];
      if (!is_on_way[*at] || !trained_[*at] || op.kind == "variable") {
        continue;
      }
      if (gradient_of(op.kind) == nullptr) {
        ++missing[op.kind];
      }
      for (const auto input : boost::make_iterator_range(boost::in_edges(index_of(*at), graph_))) {
        if (has_derivative(input)) {
          is_on_way[boost::source(input, graph_)] = true;
        }
      }
    }
    if (missing.empty()) {
      return;
    }
    std::vector<std::string> kinds;
    kinds.reserve(missing.size());
    for (const auto& [kind, count] : missing) {
      kinds.push_back(fmt::format("{} ({})", kind, count));
    }
    throw Error(ErrorCode::kUnsupported,
                fmt::format("graph '{}': no gradient rule for these kinds of ops: {}",
                            graph_[boost::graph_bundle].name, fmt::join(kinds, ", ")));
  }

  // The gradient of each output; none where nothing that is differentiated reads it.
  std::vector<std::optional<Tensor>> sum_gradients(OpId op) {
    std::vector<std::optional<Tensor>> sums(gradients_[op].size());
    for (std::size_t output = 0; output < sums.size(); ++output) {
      if (const auto& terms = gradients_[op][output]; !terms.empty()) {
        sums[output] = sum_of(op, output, terms);
      }
    }
    return sums;
  }

  Tensor sum_of(OpId op, std::size_t output, std::span<const Tensor> terms) {
    const Op& forward = graph_[index_of(op)];
    const auto constants =
        std::ranges::count(terms, kConstantGradient.op, [](Tensor term) { return term.op; });
    if (terms.size() == 1 || constants == std::ssize(terms)) {
      return terms[0];
    }
    if (constants > 0) {
      fail_loss_misused(forward.name);
    }
    const Output& value = forward.outputs[output];
    Op add{.name = forward.name + "/grad_sum" + (output == 0 ? "" : fmt::format("_{}", output)),
           .phase = Phase::kBackward,
           .outputs = {like(value)},
           .scope = forward.scope};
    operators::define(add, "add_n", {}, std::vector<Output>(terms.size(), value));
    return {append_op(graph_, std::move(add), terms), 0};
  }

  void differentiate(OpId op, std::vector<std::optional<Tensor>> gradients) {
    const Op& forward = graph_[index_of(op)];
    const operators::Gradient gradient = gradient_of(forward.kind);
    EMPLACE_CHECK(gradient != nullptr, "no gradient of kind {}", forward.kind);
    GradientStep step(graph_, op, std::move(gradients), trained_, gradients_);
    gradient(step);
    step.expect_all_gradients_used();
  }

  void update(OpId variable, Tensor gradient) {
    const std::string label = share_device(gradient);
    const Op& trained = graph_[index_of(variable)];
    Op op{.name = trained.name + "/update",
          .phase = Phase::kUpdate,
          .colocation = label,
          .scope = trained.scope};
    operators::count(op, "optimizer_update",
                     UpdateAttributes{.optimizer = std::string(optimizer_.name)},
                     std::array{value_of(graph_, gradient), trained.outputs[0]}, {});
    append_op(graph_, std::move(op), {gradient, Tensor{variable, 0}});
  }

  // Returns the label of the op that makes a gradient. If that is a cast (mixed_precision.hpp), it
  // shares its device with the op of which it casts the result.
  const std::string& share_device(Tensor gradient) {
    Op& op = graph_[index_of(gradient.op)];
    Op* maker = &op;
    const auto inputs = boost::make_iterator_range(boost::in_edges(index_of(gradient.op), graph_));
    if (op.kind == "scale" && inputs.size() == 1) {
      Op& before = graph_[boost::source(inputs.front(), graph_)];
      const auto output = index_of(graph_[inputs.front()].output);
      maker = before.outputs[output].type == op.outputs[0].type ? &op : &before;
    }
    if (maker->colocation.empty()) {
      maker->colocation = maker->name;
    }
    op.colocation = maker->colocation;
    return op.colocation;
  }

  OpGraph graph_;
  const Optimizer& optimizer_;
  std::vector<OpId> order_;                    // of the forward ops
  IdVector<OpId, bool> trained_;               // forward ops
  IdVector<OpId, OutputGradients> gradients_;  // of forward ops
};

}  // namespace

OpGraph training_graph(const OpGraph& forward, const Optimizer& optimizer) {
  return Differentiator(forward, optimizer).run();
}

}  // namespace emplace
