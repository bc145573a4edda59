#pragma once

// Kinds of TensorFlow's operators and the work that they do, counted as all graphs are counted
// (docs/concepts/training-graphs.md).

#include "messages.hpp"

#include <span>
#include <string>
#include <string_view>

namespace emplace::tensorflow {

/// Returns the kind of op that an operator is: one of ours where the table has it, else the
/// operator's own name in small letters.
std::string kind_of(std::string_view op);

/// Says whether an operator does work that must not be left uncounted: convolutions, matrix
/// products, recurrent layers.
bool is_heavy(std::string_view op);

/// Holds what is known of the op that is counted.
struct Known {
  std::span<const Output* const> inputs{};  ///< null where the shape is unknown
  bool is_known = false;                    ///< the shape of the first result
  bool reads_stored = false;                ///< the first input is stored between steps
};

/// Sets FLOPs, the shape by which profiles look kernels up, and bytes beyond each tensor once. A
/// light operator whose shapes are unknown keeps what it has. Throws kUnsupported for a heavy
/// operator that cannot be counted, and kFormat for shapes that do not fit.
void count_work(Op& op, const proto::NodeDef& node, const Known& known);

}  // namespace emplace::tensorflow
