#pragma once

// The parameters of a network: named affine layers in one flat array, so that an optimizer step, a
// copy or a sum of gradients is one loop. Weights are initialized Glorot-uniform (Glorot, Bengio
// 2010) and biases with 0, as in Placeto.

#include <emplace/base/json_cursor.hpp>
#include <emplace/base/random.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::nn {

/// Identifies a layer of a Parameters.
using LayerId = std::size_t;

/// Describes an affine layer. Its weights start at `offset`, inputs x outputs in row-major order;
/// its biases follow them.
struct Layer {
  std::string name{};
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t offset = 0;

  std::size_t bias_offset() const { return offset + inputs * outputs; }
  std::size_t size() const { return (inputs + 1) * outputs; }
};

/// Holds the layers of a network with their values.
template <class Scalar>
class Parameters {
 public:
  /// Adds a layer of zeros. Requires: no layer is called `name`.
  LayerId add(std::string name, std::size_t inputs, std::size_t outputs);

  /// Draws all weights from +-sqrt(6 / (inputs + outputs)) and sets biases to 0.
  void initialize(RandomStream& random);

  const std::vector<Layer>& layers() const { return layers_; }
  const Layer& layer(LayerId id) const { return layers_[id]; }

  /// Returns all values, layer by layer.
  std::span<Scalar> values() { return values_; }
  std::span<const Scalar> values() const { return values_; }

  /// Returns the layers as a JSON array of objects `{"name", "inputs", "outputs", "values"}`, which
  /// load() reads as the same bits.
  std::string to_json() const;

  /// Reads what to_json() wrote; throws kFormat unless it has these layers, in this order and of
  /// these sizes.
  void load(const JsonCursor& json);

 private:
  std::vector<Layer> layers_;
  std::vector<Scalar> values_;
};

}  // namespace emplace::agents::nn
