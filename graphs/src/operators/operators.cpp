#include "operators.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <utility>

namespace emplace::operators {
namespace {

const Operator& find(std::string_view name) {
  for (const auto family : {convolutions(), poolings()}) {
    const auto found = std::ranges::find(family, name, &Operator::name);
    if (found != family.end()) {
      return *found;
    }
  }
  EMPLACE_CHECK(false, "no operator '{}'", name);
}

}  // namespace

std::vector<Output> infer(std::string_view name, const Attributes& attributes, Tensors inputs) {
  const Operator& found = find(name);
  EMPLACE_CHECK(found.infer != nullptr, "results of '{}' do not follow from its inputs", name);
  return found.infer(attributes, inputs);
}

void count(Op& op, std::string_view name, Attributes attributes, Tensors inputs, Tensors results) {
  find(name).count(op, attributes, inputs, results);
  op.attributes = std::move(attributes);
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

Attributes attributes_from_key(std::string_view kind, const Shape& key) {
  for (const auto from_key : {convolution_from_key, pooling_from_key}) {
    if (auto attributes = from_key(kind, key)) {
      return *std::move(attributes);
    }
  }
  return {};
}

}  // namespace emplace::operators
