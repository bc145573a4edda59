#pragma once

// What the reader of a graph asks of an operator by its name: whether it stores numbers, hands them
// on, or runs other graphs, and of which type its results are.

#include "messages.hpp"

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace emplace::tensorflow {

/// Says whether `op` is one of these.
bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names);

/// Says whether an operator runs other graphs, as often as the data say.
bool is_control_flow(std::string_view op);

/// Says whether an operator stores numbers between steps.
bool is_variable(std::string_view op);

/// Says whether an operator hands on the numbers that it reads.
bool passes_on(std::string_view op);

/// Says whether an operator reads moving averages at `input`, which are kept but not trained.
bool reads_statistics(std::string_view op, std::size_t input);

/// Says whether a node's name is one that TensorFlow's layers give to moving averages.
bool names_statistics(std::string_view name);

/// Says whether elements are real numbers, which may be trained.
bool is_real(DataType type);

/// Returns the type of a node's result.
proto::DataType result_type(const proto::NodeDef& node, std::size_t index);

}  // namespace emplace::tensorflow
