#include "operators.hpp"

#include "model/assemble.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace emplace::operators {
namespace {

constexpr std::string_view kBackward = "_backward";

// The function of which `name` is the gradient, or null.
const Operator* function_of_gradient(std::string_view name) {
  const Operator* row =
      name.ends_with(kBackward) ? find(name.substr(0, name.size() - kBackward.size())) : nullptr;
  return row != nullptr && row->derivative.flops > 0 ? row : nullptr;
}

const Operator& expect(std::string_view name) {
  const Operator* row = find(name);
  EMPLACE_CHECK(row != nullptr, "no operator '{}'", name);
  return *row;
}

// Attributes are those of the operator; others say nothing about it.
Attributes fitting(const Operator& row, Attributes attributes) {
  if (row.from_key == nullptr) {
    return {};
  }
  Attributes by_default = row.from_key({});
  return attributes.index() == by_default.index() ? std::move(attributes) : std::move(by_default);
}

}  // namespace

const Output& Call::input(std::size_t i) const {
  if (i >= inputs.size()) {
    fail_shapes(fmt::format("expected at least {} inputs, found {}", i + 1, inputs.size()));
  }
  return inputs[i];
}

const Output& Call::result(std::size_t i) const {
  if (i >= results.size()) {
    fail_shapes(fmt::format("expected at least {} results, found {}", i + 1, results.size()));
  }
  return results[i];
}

std::int64_t Call::elements() const { return product(result().shape); }

std::int64_t Call::input_elements() const { return inputs.empty() ? 0 : product(inputs[0].shape); }

const std::unordered_map<std::string_view, const Operator*>& all() {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Operator*> rows;
    for (const auto family : {attentions(), convolutions(), elementwise(), losses(), movements(),
                              normalizations(), poolings(), products(), recurrent_layers(),
                              reductions(), routings(), sources(), updates()}) {
      for (const Operator& row : family) {
        const bool is_new = rows.emplace(row.kind.name, &row).second;
        EMPLACE_CHECK(is_new, "two operators are called '{}'", row.kind.name);
      }
    }
    return rows;
  }();
  return by_name;
}

std::vector<std::string_view> names_in(std::string_view list) {
  std::vector<std::string_view> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(' ', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

const Operator* find(std::string_view name) {
  const auto found = all().find(name);
  return found != all().end() ? found->second : nullptr;
}

bool is_counted(std::string_view name) {
  const Operator* row = find(name);
  return row != nullptr ? row->count != nullptr : function_of_gradient(name) != nullptr;
}

std::vector<Output> infer(std::string_view name, const Attributes& attributes, Tensors inputs) {
  const Operator& row = expect(name);
  EMPLACE_CHECK(row.infer != nullptr, "results of '{}' do not follow from its inputs", name);
  const Attributes own = fitting(row, attributes);
  return row.infer({.of = row, .attributes = own, .inputs = inputs, .results = {}});
}

void count(Op& op, std::string_view name, Attributes attributes, Tensors inputs, Tensors results) {
  op.kind = name;
  if (const Operator* function = find(name) == nullptr ? function_of_gradient(name) : nullptr) {
    const Call call{
        .of = *function, .attributes = attributes, .inputs = inputs, .results = results};
    op.shape = op.shape.empty() ? Shape{call.elements()} : op.shape;
    op.flops = product({function->derivative.flops, call.elements()});
    op.attributes = fitting(*function, std::move(attributes));
    return;
  }
  const Operator& row = expect(name);
  EMPLACE_CHECK(row.count != nullptr, "'{}' is not added by its name", name);
  op.attributes = fitting(row, std::move(attributes));
  const Attributes own = op.attributes;  // the op's may become those of another kind
  row.count(op, {.of = row, .attributes = own, .inputs = inputs, .results = results});
}

void define(Op& op, std::string_view name, Attributes attributes, Tensors inputs) {
  if (op.outputs.empty()) {
    op.outputs = infer(name, attributes, inputs);
  }
  count(op, name, std::move(attributes), inputs, op.outputs);
}

void count(Op& op, std::string_view name, Attributes attributes,
           std::initializer_list<Output> inputs, const Output& result) {
  count(op, name, std::move(attributes), Tensors(inputs.begin(), inputs.size()),
        Tensors(&result, 1));
}

Op describe(std::string_view name, Attributes attributes, std::initializer_list<Output> inputs,
            const Output& result) {
  Op op;
  count(op, name, std::move(attributes), inputs, result);
  return op;
}

Attributes attributes_from_key(const Op& op) {
  const Operator* row = find(op.kind);
  row = row == nullptr ? function_of_gradient(op.kind) : row;
  return row == nullptr || row->from_key == nullptr ? Attributes() : row->from_key(op);
}

Attributes attributes_of(const Op& op) {
  return std::holds_alternative<std::monostate>(op.attributes) ? attributes_from_key(op)
                                                               : op.attributes;
}

// --- For families ---

void fail_shapes(const std::string& message) { throw Error(ErrorCode::kFormat, message); }

Shape broadcast(Tensors tensors) {
  Shape result;
  for (const Output& tensor : tensors) {
    const Shape& shape = tensor.shape;
    if (shape.size() > result.size()) {
      result.insert(result.begin(), shape.size() - result.size(), 1);
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& extent = result[result.size() - 1 - i];
      const std::int64_t other = shape[shape.size() - 1 - i];
      if (extent != other && extent != 1 && other != 1) {
        fail_shapes(fmt::format("shapes [{}] and [{}] do not fit each other",
                                fmt::join(tensors[0].shape, ", "), fmt::join(shape, ", ")));
      }
      extent = extent == 1 ? other : extent;
    }
  }
  return result;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) {
    fail_shapes(fmt::format("axis {} of a tensor of {} dimensions", axis, rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::vector<Output> same(const Call& call) {
  return {make_output(call.input(0).shape, call.input(0).type)};
}

void count_results(Op& op, const Call& call) {
  op.shape = {call.elements()};
  op.flops = product({call.of.flops, op.shape[0]});
}

void count_inputs(Op& op, const Call& call) {
  op.shape = {call.input_elements()};
  op.flops = product({call.of.flops, op.shape[0]});
}

void count_movement(Op& op, const Call& call) {
  op.shape = {call.elements(), call.input_elements()};
}

void read_only_result(Op& op, const Call& call) {
  op.bytes_read = std::min<std::int64_t>(call.result().bytes - call.input(0).bytes, 0);
}

}  // namespace emplace::operators
