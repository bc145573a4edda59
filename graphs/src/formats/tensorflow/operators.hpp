#pragma once

// The operators of TensorFlow: which operator of our library each one is, and what the reader of a
// graph asks of it by its name.

#include "messages.hpp"
#include "node_call.hpp"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::tensorflow {

/// Returns the kind of op that an operator is: one of ours where the table has it, else the
/// operator's own name in small letters.
std::string kind_of(std::string_view op);

/// Says whether an operator does work that must not be left uncounted: convolutions, matrix
/// products, recurrent layers.
bool is_heavy(std::string_view op);

/// Says whether infer() knows an operator.
bool has_shape_rule(std::string_view op);

/// Returns what is known of the results of a node, other than a source of data, that reads
/// `inputs`; an entry that is missing is unknown. Throws kFormat for shapes that do not fit.
std::vector<KnownTensor> infer(const proto::NodeDef& node, std::span<const KnownTensor> inputs);

/// Fills in what an op is besides its kind and results, as the library counts it. A light operator
/// whose shapes are unknown keeps what it has. Throws kUnsupported for a heavy operator that the
/// library does not have, and kFormat for shapes that do not fit.
void count_work(Op& op, const NodeCall& call);

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
