// Layers of sequence models: tables of vectors and recurrent cells.

#include <emplace/graphs/model_builder.hpp>

namespace emplace {

Tensor ModelBuilder::embedding(Tensor table, Tensor ids) {
  return define("embedding", {table, ids});
}

LstmState ModelBuilder::lstm_cell(Tensor x, LstmState before, Tensor weights, Tensor bias) {
  const Tensor result = define("lstm_cell", {x, before.h, before.c, weights, bias});
  return {.h = result, .c = {result.op, 1}};
}

}  // namespace emplace
