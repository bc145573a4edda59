#pragma once

// What must be known to run an op on a device: the op, and the tensors that it reads. An op of a
// graph describes only what it writes; its edges describe what it reads.

#include <emplace/graphs/op.hpp>

#include <string>
#include <vector>

namespace emplace::calibrate {

/// An op and the shapes and types of its inputs.
struct OpSite {
  Op op{};
  std::vector<Output> inputs{};  ///< one for each data edge, in the order of the op's inputs
  std::vector<std::string> producers{};  ///< the kind of the op that makes each input
};

}  // namespace emplace::calibrate
