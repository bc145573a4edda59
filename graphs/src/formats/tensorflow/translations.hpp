#pragma once

// Nodes as the library of operators has them: attributes, inputs and results of an operator whose
// name is not all that there is to say. The table of operators.cpp names them.

#include "node_call.hpp"

#include <emplace/graphs/attributes.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace emplace::tensorflow {

/// Holds what the library is asked about a node.
struct Translation {
  std::string_view name;  ///< of the operator
  Attributes attributes{};
  std::vector<Output> inputs{};
  std::vector<Output> results{};      ///< none while shapes are inferred
  std::optional<MapLayout> layout{};  ///< in which the node has maps that the library infers
  bool is_guess = false;              ///< what results depend on is not known
};

/// Completes a translation, which has the inputs and results of the node as they are: fills in
/// attributes, and lays out tensors as the library has them.
using Translate = void (*)(Translation& to, const NodeCall& call);

namespace translations {

void axis(Translation& to, const NodeCall& call);
void batch_norm(Translation& to, const NodeCall& call);
void batch_norm_gradient(Translation& to, const NodeCall& call);
void bias(Translation& to, const NodeCall& call);
void conv(Translation& to, const NodeCall& call);
void conv_data_gradient(Translation& to, const NodeCall& call);
void conv_filter_gradient(Translation& to, const NodeCall& call);
void einsum(Translation& to, const NodeCall& call);
void gather(Translation& to, const NodeCall& call);
void lrn(Translation& to, const NodeCall& call);
void matmul(Translation& to, const NodeCall& call);
void pair(Translation& to, const NodeCall& call);
void pool(Translation& to, const NodeCall& call);
void pool_gradient(Translation& to, const NodeCall& call);
void reduce(Translation& to, const NodeCall& call);
void resize(Translation& to, const NodeCall& call);
void transpose(Translation& to, const NodeCall& call);
void update(Translation& to, const NodeCall& call);

}  // namespace translations

}  // namespace emplace::tensorflow
