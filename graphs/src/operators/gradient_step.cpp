#include "gradient_step.hpp"

#include "model/assemble.hpp"
#include "model/element_type.hpp"

#include <emplace/base/error.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace emplace {

GradientStep::GradientStep(OpGraph& graph, OpId op, std::vector<std::optional<Tensor>> gradients,
                           const IdVector<OpId, bool>& wanted,
                           IdVector<OpId, OutputGradients>& given)
    : graph_(graph),
      op_(op),
      gradients_(std::move(gradients)),
      used_(gradients_.size(), false),
      wanted_(wanted),
      given_(given) {
  for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), graph))) {
    if (graph[edge].output != Dependency::kControl) {
      inputs_.push_back({static_cast<OpId>(boost::source(edge, graph)), graph[edge].output});
    }
  }
}

Tensor GradientStep::input(std::size_t index) const {
  if (index >= inputs_.size()) {
    fail_arity("inputs", index);
  }
  return inputs_[index];
}

Tensor GradientStep::output(std::int32_t index) const {
  if (index_of(index) >= op().outputs.size()) {
    fail_arity("outputs", index_of(index));
  }
  return {op_, index};
}

std::int64_t GradientStep::dimension(std::size_t index) const {
  const auto shape = op().shape;
  if (index >= shape.size()) {
    fail_arity("entries in shape", index);
  }
  return shape[index];
}

void GradientStep::fail_arity(std::string_view what, std::size_t index) const {
  throw Error(ErrorCode::kFormat, fmt::format("op '{}' of kind {}: expected at least {} {}",
                                              op().name, op().kind, index + 1, what));
}

void GradientStep::fail_output(std::size_t index) const {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("op '{}' of kind {}: no gradient rule for its output {}", op().name,
                          op().kind, index));
}

bool GradientStep::has_gradient(std::int32_t output) const {
  const std::size_t index = index_of(output);
  return index < gradients_.size() && gradients_[index].has_value();
}

Tensor GradientStep::gradient(std::int32_t output) {
  const std::size_t index = index_of(output);
  if (index < gradients_.size()) {
    if (const std::optional<Tensor>& found = gradients_[index]) {
      used_[index] = true;
      return *found;
    }
  }
  const auto other = std::ranges::find_if(gradients_, [](const auto& g) { return g.has_value(); });
  fail_output(static_cast<std::size_t>(other - gradients_.begin()));
}

void GradientStep::expect_constant_gradient() {
  if (gradient().op != kConstantGradient.op) {
    fail_loss_misused(op().name);
  }
}

void GradientStep::expect_all_gradients_used() const {
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    if (gradients_[i] && !used_[i]) {
      fail_output(i);
    }
  }
}

Output GradientStep::input_value(std::size_t index) const { return value_of(graph_, input(index)); }

bool GradientStep::wants(std::size_t index) const {
  return wanted_[input(index).op] && is_floating(input_value(index).type);
}

Op GradientStep::make_op(std::string_view kind, std::string_view suffix) const {
  const Op forward = op();
  return {.name = fmt::format("{}/{}", forward.name, suffix),
          .kind = std::string(kind),
          .phase = Phase::kBackward,
          .attributes = attributes(),
          .shape = forward.shape,
          .scope = forward.scope};
}

void GradientStep::expect_no_constant(Tensor tensor) const {
  if (tensor.op == kConstantGradient.op) {
    fail_loss_misused(op().name);
  }
}

Tensor GradientStep::emit(Op op, std::span<const Tensor> inputs) {
  std::ranges::for_each(inputs, [this](Tensor input) { expect_no_constant(input); });
  return {append_op(graph_, std::move(op), inputs), 0};
}

Tensor GradientStep::add(std::string_view op_name, std::string_view suffix, Attributes attributes,
                         std::span<const Tensor> inputs, std::vector<Output> results) {
  Op op = make_op(op_name, suffix);
  op.outputs = std::move(results);
  for (const Tensor input : inputs) {
    expect_no_constant(input);
  }
  try {
    operators::define(op, op_name, std::move(attributes), values_of(graph_, inputs));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("op '{}' of kind {}: {}", this->op().name,
                                          this->op().kind, error.what()));
  }
  return emit(std::move(op), inputs);
}

Tensor GradientStep::add(std::string_view op_name, std::string_view suffix, Attributes attributes,
                         std::initializer_list<Tensor> inputs, std::vector<Output> results) {
  return add(op_name, suffix, std::move(attributes), std::span(inputs.begin(), inputs.size()),
             std::move(results));
}

void GradientStep::give(std::size_t index, Tensor gradient) {
  const Tensor receiver = input(index);
  if (!wants(index)) {
    return;
  }
  given_[receiver.op][index_of(receiver.output)].push_back(gradient);
}

void GradientStep::give_by_operator(std::size_t index, std::string_view op_name,
                                    std::string_view suffix, std::span<const Tensor> inputs) {
  if (wants(index)) {
    give(index, add(op_name, suffix, attributes(), inputs, {like(input_value(index))}));
  }
}

void GradientStep::give_by_operator(std::size_t index, std::string_view op_name,
                                    std::string_view suffix, std::initializer_list<Tensor> inputs) {
  give_by_operator(index, op_name, suffix, std::span(inputs.begin(), inputs.size()));
}

void GradientStep::give_all(std::string_view kind, std::int64_t flops,
                            std::initializer_list<Tensor> more) {
  Op op = make_op(kind, "grad");
  op.flops = flops;
  std::vector<Tensor> inputs{gradient()};
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    inputs.push_back(input(i));
    if (wants(i)) {
      op.outputs.push_back(like(input_value(i)));
      wanted.push_back(i);
    }
  }
  inputs.insert(inputs.end(), more.begin(), more.end());
  Tensor result = emit(std::move(op), inputs);
  for (const std::size_t i : wanted) {
    give(i, result);
    ++result.output;
  }
}

void fail_loss_misused(std::string_view name) {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("op '{}': a loss may only be added to other losses", name));
}

Output like(const Output& value) { return make_output(value.shape, value.type); }

std::int64_t elements(const GradientStep& step) { return product(step.input_value(0).shape); }

void give_reduced(GradientStep& step, std::size_t index, Tensor gradient, std::string_view suffix) {
  const Output value = step.input_value(index);
  const Output whole = step.op().outputs[0];
  if (!step.wants(index) || value.shape == whole.shape) {
    return step.give(index, gradient);
  }
  // Ones in front only describe the same numbers in another way.
  const bool is_same = product(value.shape) == product(whole.shape);
  step.give(index, step.add(is_same ? "reshape" : "reduce_sum", fmt::format("{}_sum", suffix), {},
                            {gradient}, {like(value)}));
}

}  // namespace emplace
