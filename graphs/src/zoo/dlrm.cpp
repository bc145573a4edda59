// DLRM (Naumov et al.: Deep Learning Recommendation Model for Personalization and Recommendation
// Systems, 2019, arXiv 1906.00091), by default the model that its code trains on the Criteo Kaggle
// data: 26 tables, a network over 13 numbers, the products of all pairs of vectors, and a network
// over these. Tables stand in scopes of their own, "table_0" and so on; only the rows that a batch
// looks up are updated.

#include "inference_model.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::dlrm_model {
namespace {

constexpr std::int64_t kNumbers = 13;

// Values of each categorical feature of the Criteo Kaggle data.
constexpr std::array<std::int64_t, 26> kRows = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};

Tensor layers(ModelBuilder& net, Tensor x, std::initializer_list<std::int64_t> widths) {
  for (const auto width : widths) {
    x = net.relu(net.dense(x, width));
  }
  return x;
}

// The products of all pairs of `vectors`, each [N, width], after the first of them.
Tensor interact(ModelBuilder& net, const std::vector<Tensor>& vectors) {
  const auto scope = net.scope("interaction");
  const auto shape = net.shape(vectors[0]);
  const auto features = static_cast<std::int64_t>(vectors.size());
  const Tensor all = net.reshape(net.concat(vectors), {shape[0], features, shape[1]});
  const Tensor products = net.batch_matmul(all, all, {.right = true});
  return net.concat(std::array{vectors[0], net.lower_triangle(products)});
}

OpGraph forward(const Params& params) {
  const auto get = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const auto batch = get("batch");
  const auto width = get("width");
  ModelBuilder net("dlrm", "Naumov et al. 2019, arXiv 1906.00091", type_of(params));
  std::vector<Tensor> vectors;
  {
    const auto scope = net.scope("bottom");
    const Tensor numbers = net.input("numbers", {batch, kNumbers}, net.type());
    vectors.push_back(layers(net, numbers, {512, 256, 64, width}));
  }
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const auto scope = net.scope(fmt::format("table_{}", i));
    const Tensor table = net.variable("rows", {std::min(kRows[i], get("max-rows")), width});
    vectors.push_back(
        net.embedding_bag(table, net.input("ids", {batch, get("lookups")}, DataType::kInt32)));
  }
  const Tensor joined = interact(net, vectors);
  const auto scope = net.scope("top");
  const Tensor score = net.dense(layers(net, joined, {512, 256}), 1);
  if (params.get<bool>("training")) {
    net.sigmoid_cross_entropy(score, net.input("labels", {batch, 1}, net.type()));
  } else {
    net.sigmoid(score);
  }
  return std::move(net).finish();
}

const GraphRegistration kRegistration(inference_model({
    .name = "dlrm",
    .summary = "recommendations: embedding tables and the products of their rows",
    .reference = "Naumov et al. 2019, arXiv 1906.00091",
    .batch = 2048,
    .examples = "clicks",
    .optimizer = "sgd",
    .parameters = {whole_number("width", 16, 1, 65536, "numbers of a row"),
                   whole_number("lookups", 1, 1, 1'000'000, "rows of each table for one click"),
                   whole_number("max-rows", 40'000'000, 1, 1'000'000'000,
                                "rows of a table at most"),
                   type_parameter()},
    .forward = forward,
}));

}  // namespace
}  // namespace emplace::dlrm_model
