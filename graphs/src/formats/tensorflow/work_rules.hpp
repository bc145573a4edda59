#pragma once

// How the work of TensorFlow's operators is counted: the rules that rows of the table of work.cpp
// name.

#include "shapes.hpp"
#include "work.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace emplace::tensorflow::work {

struct WorkRow;

/// Shows one op whose shapes are known as far as its row needs them.
struct Work {
  Op& op;
  const proto::NodeDef& node;
  std::span<const Output* const> inputs;
  const WorkRow& row;
  bool reads_stored = false;

  const Shape& shape(std::size_t i) const { return inputs[i]->shape; }
  const Shape& result() const { return op.outputs[0].shape; }
};

/// Says how the work of one operator is counted.
struct WorkRow {
  std::string_view op;
  std::string_view kind;  ///< of ours; empty: the operator's own name
  void (*count)(Work&) = nullptr;
  std::int64_t flops = 0;    ///< for each number of what `count` says
  std::size_t num_read = 0;  ///< how many inputs must be known
  bool is_heavy = false;
};

/// Returns an operator's name in small letters.
std::string in_small_letters(std::string_view op);

// --- Each number by itself, products, and what moves numbers (work_rules.cpp) ---

void per_result(Work& work);
void per_input(Work& work);
void matmul(Work& work);
void einsum(Work& work);
void lstm_block_cell(Work& work);
void refuse(Work& work);
void add(Work& work);
void multiply(Work& work);
void add_n(Work& work);
void mean(Work& work);
void softmax(Work& work);
void cross_entropy(Work& work);
void concat(Work& work);
void split(Work& work);
void transpose(Work& work);
void slice(Work& work);
void gather(Work& work);
void update(Work& work);

// --- Layers with weights, windows or channels (work_rules_layers.cpp) ---

void conv(Work& work);
void conv_backward_data(Work& work);
void conv_backward_filter(Work& work);
void batch_norm(Work& work);
void batch_norm_backward(Work& work);
void bias_add(Work& work);
void bias_add_backward(Work& work);
void pool(Work& work);
void max_pool_backward(Work& work);
void avg_pool_backward(Work& work);
void local_response(Work& work);

}  // namespace emplace::tensorflow::work
