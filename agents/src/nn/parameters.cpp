#include "parameters.hpp"

#include "number_list.hpp"

#include <emplace/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace emplace::agents::nn {

template <class Scalar>
LayerId Parameters<Scalar>::add(std::string name, std::size_t inputs, std::size_t outputs) {
  for (const Layer& layer : layers_) {
    EMPLACE_CHECK(layer.name != name, "two layers are called '{}'", name);
  }
  layers_.push_back({std::move(name), inputs, outputs, values_.size()});
  values_.resize(values_.size() + layers_.back().size());
  return layers_.size() - 1;
}

template <class Scalar>
void Parameters<Scalar>::initialize(RandomStream& random) {
  std::ranges::fill(values_, Scalar{0});
  for (const Layer& layer : layers_) {
    const double limit = std::sqrt(6.0 / static_cast<double>(layer.inputs + layer.outputs));
    for (std::size_t at = layer.offset; at < layer.bias_offset(); ++at) {
      values_[at] = static_cast<Scalar>((2 * random.uniform() - 1) * limit);
    }
  }
}

template <class Scalar>
std::string Parameters<Scalar>::to_json() const {
  std::string text = "[";
  for (const Layer& layer : layers_) {
    text += fmt::format(R"({}{{"name": "{}", "inputs": {}, "outputs": {}, "values": {}}})",
                        &layer == &layers_.front() ? "\n" : ",\n", layer.name, layer.inputs,
                        layer.outputs, write_numbers(values().subspan(layer.offset, layer.size())));
  }
  return text + "\n]";
}

template <class Scalar>
void Parameters<Scalar>::load(const JsonCursor& json) {
  const std::vector<JsonCursor> elements = json.elements();
  if (elements.size() != layers_.size()) {
    json.fail(fmt::format("expected {} layers, found {}", layers_.size(), elements.size()));
  }
  std::vector<Scalar> read;
  read.reserve(values_.size());
  for (LayerId id = 0; id < layers_.size(); ++id) {
    const Layer& layer = layers_[id];
    const JsonCursor& element = elements[id];
    element.expect_only({"name", "inputs", "outputs", "values"});
    if (element.at("name").text() != layer.name) {
      element.at("name").fail(
          fmt::format("expected layer '{}', found '{}'", layer.name, element.at("name").text()));
    }
    const auto expect_size = [&](const char* key, std::size_t size) {
      const std::int64_t found =
          element.at(key).integer(0, std::numeric_limits<std::int32_t>::max());
      if (found != static_cast<std::int64_t>(size)) {
        element.at(key).fail(
            fmt::format("layer '{}' has {} {}, not {}", layer.name, size, key, found));
      }
    };
    expect_size("inputs", layer.inputs);
    expect_size("outputs", layer.outputs);
    const auto numbers = read_numbers<Scalar>(element.at("values"), layer.size());
    read.insert(read.end(), numbers.begin(), numbers.end());
  }
  values_ = std::move(read);
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace emplace::agents::nn
