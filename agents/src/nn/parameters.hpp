#pragma once

// The weights of a network: named affine layers in one flat array, so that an optimizer, a copy or
// a sum over workers is one loop. Weights start Glorot-uniform and biases at 0 (Glorot, Bengio
// 2010), as in Placeto.

#include <emplace/graphs/json_cursor.hpp>
#include <emplace/graphs/random.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::nn {

/// Names a layer of a Parameters.
using LayerId = std::size_t;

/// Describes an affine layer. Its weights stand from `offset` on, inputs x outputs, row after row;
/// its biases after them.
struct Layer {
  std::string name{};
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t offset = 0;

  std::size_t bias_offset() const { return offset + inputs * outputs; }
  std::size_t size() const { return (inputs + 1) * outputs; }
};

/// Holds the layers of a network with their numbers.
template <class Scalar>
class Parameters {
 public:
  /// Adds a layer of zeros. Requires: no layer is called `name`.
  LayerId add(std::string name, std::size_t inputs, std::size_t outputs);

  /// Draws all weights from +-sqrt(6 / (inputs + outputs)) and sets biases to 0.
  void initialize(RandomStream& random);

  const std::vector<Layer>& layers() const { return layers_; }
  const Layer& layer(LayerId id) const { return layers_[id]; }

  /// Returns all numbers, layer after layer.
  std::span<Scalar> values() { return values_; }
  std::span<const Scalar> values() const { return values_; }

  /// Returns the layers as a JSON array of objects `{"name", "inputs", "outputs", "values"}`. Read
  /// again, it gives the same bits.
  std::string to_json() const;

  /// Takes the numbers of what to_json() wrote; throws kFormat unless it has these layers, in this
  /// order and of these sizes.
  void load(const JsonCursor& json);

 private:
  std::vector<Layer> layers_;
  std::vector<Scalar> values_;
};

}  // namespace emplace::agents::nn
