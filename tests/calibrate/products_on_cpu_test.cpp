// Products and convolutions of graphs on the CPU, as libraries are asked for them: with the
// paddings, strides and transposed sides that a graph has.

#include <emplace/calibrate/cpu_device.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace emplace::calibrate::products_on_cpu_test {
namespace {

using testing::FloatNear;
using testing::Pointwise;

using Numbers = std::vector<float>;

// Numbers that do not repeat, from -1 to 1.
Numbers some_numbers(std::int64_t count, OpId seed) {
  Numbers numbers(static_cast<std::size_t>(count));
  float next = 0.123F * static_cast<float>(static_cast<std::int64_t>(seed));
  for (float& number : numbers) {
    next += 0.754877666F;
    next -= next > 1 ? 2.0F : 0.0F;
    number = next;
  }
  return numbers;
}

// Runs the products and convolutions of a graph. Other tensors hold what they are given, or some
// numbers.
class ProductsOfGraph {
 public:
  explicit ProductsOfGraph(const OpGraph& graph, std::map<OpId, Numbers> given = {})
      : graph_(graph), numbers_(std::move(given)) {
    const std::vector<int> core{usable_cores().front()};
    const auto device = make_cpu_device("cpu:0", core);
    for (const OpId op : topological_order(graph_)) {
      const Op& made = graph_[static_cast<std::size_t>(op)];
      if (made.kind == "reshape") {
        numbers_[op] = of(inputs_of(op)[0]);
      } else if (!made.outputs.empty()) {
        numbers_.emplace(op, some_numbers(made.outputs[0].bytes / 4, op));
      }
      if (made.kind.starts_with("conv2d") || made.kind.ends_with("matmul")) {
        run(*device, op);
      }
    }
  }

  const Numbers& of(OpId op) const { return numbers_.at(op); }

  // The ops of a kind.
  std::vector<OpId> all(const std::string& kind) const {
    std::vector<OpId> found;
    for (OpId op = 0; op < num_ops(graph_); ++op) {
      if (graph_[static_cast<std::size_t>(op)].kind == kind) {
        found.push_back(op);
      }
    }
    return found;
  }

  std::vector<OpId> inputs_of(OpId op) const {
    std::vector<OpId> inputs;
    for (const auto edge :
         boost::make_iterator_range(boost::in_edges(static_cast<std::size_t>(op), graph_))) {
      inputs.push_back(static_cast<OpId>(boost::source(edge, graph_)));
    }
    return inputs;
  }

 private:
  void run(ComputeDevice& device, OpId op) {
    const auto program = device.compile(site_of(graph_, op));
    if (program == nullptr) {
      ADD_FAILURE() << graph_[static_cast<std::size_t>(op)].name << " does not compile";
      return;
    }
    const auto workspace = device.allocate(program->workspace_bytes(), false);
    OpBuffers buffers{.outputs = {numbers_.at(op).data()}, .workspace = workspace->data()};
    for (const OpId input : inputs_of(op)) {
      buffers.inputs.push_back(of(input).data());
    }
    const auto queue = device.make_queue();
    queue->run(*program, buffers);
    queue->finish();
  }

  OpGraph graph_;
  std::map<OpId, Numbers> numbers_;
};

// Filters that pick the left and the lower neighbour, of the map 1 2 3 / 4 5 6 / 7 8 9.
TEST(ProductsOnCpu, ConvolveMaps) {
  ModelBuilder net("net");
  const Tensor x = net.input("x", {1, 1, 3, 3});
  const Tensor y = net.conv2d(x, {.filters = 2, .kernel = {3, 3}});
  const Tensor strided = net.conv2d(x, {.kernel = {3, 3}, .stride = 2});
  const Numbers lower{0, 0, 0, 0, 0, 0, 0, 1, 0};
  Numbers both{0, 0, 0, 1, 0, 0, 0, 0, 0};
  both.insert(both.end(), lower.begin(), lower.end());
  const OpGraph graph = std::move(net).finish();
  const ProductsOfGraph plain(graph);
  const ProductsOfGraph ran(graph, {{x.op, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
                                    {plain.inputs_of(y.op)[1], both},
                                    {plain.inputs_of(strided.op)[1], lower}});
  EXPECT_THAT(ran.of(y.op), Pointwise(FloatNear(1e-5F), Numbers{0, 1, 2, 0, 4, 5, 0, 7, 8, 4, 5, 6,
                                                                7, 8, 9, 0, 0, 0}));
  EXPECT_THAT(ran.of(strided.op), Pointwise(FloatNear(1e-5F), Numbers{4, 6, 0, 0}));
}

TEST(ProductsOnCpu, MultiplyMatrices) {
  ModelBuilder net("net");
  const Tensor a = net.input("a", {2, 3});
  const Tensor b = net.input("b", {3, 2});
  const Tensor c = net.input("c", {1, 3});
  const Tensor y = net.matmul(a, b);
  const Tensor turned = net.matmul(a, c, {.right = true});
  const ProductsOfGraph ran(
      std::move(net).finish(),
      {{a.op, {1, 2, 3, 4, 5, 6}}, {b.op, {1, 2, 0, 1, 1, 0}}, {c.op, {1, 1, 1}}});
  EXPECT_THAT(ran.of(y.op), Pointwise(FloatNear(1e-5F), Numbers{4, 4, 10, 13}));
  EXPECT_THAT(ran.of(turned.op), Pointwise(FloatNear(1e-5F), Numbers{6, 15}));
}

double dot(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

struct Layer {
  std::string name;
  std::vector<std::int64_t> shape;
  std::function<Tensor(ModelBuilder&, Tensor)> apply;
};

class GradientsOfProducts : public testing::TestWithParam<Layer> {};

// y is linear in x and in w, so y dy = x dx = w dw, whatever dy is.
TEST_P(GradientsOfProducts, AreAdjointToTheProduct) {
  ModelBuilder net("net");
  const Tensor y = GetParam().apply(net, net.variable("x", GetParam().shape));
  net.mean_squared_error(y, net.input("target", net.shape(y)));
  const ProductsOfGraph ran(training_graph(std::move(net).finish(), find_optimizer("sgd")));
  const double expected = dot(ran.of(y.op), ran.of(ran.all("mean_squared_error_backward").at(0)));
  const auto updates = ran.all("optimizer_update");
  EXPECT_EQ(updates.size(), 2);
  for (const OpId update : updates) {
    const auto inputs = ran.inputs_of(update);
    EXPECT_NEAR(dot(ran.of(inputs[0]), ran.of(inputs[1])), expected, 1e-3);
  }
}

Layer product(std::string name, std::vector<std::int64_t> left,
              const std::vector<std::int64_t>& right, Transposed transposed) {
  return {std::move(name), std::move(left), [right, transposed](ModelBuilder& net, Tensor a) {
            const Tensor b = net.variable("b", right);
            return right.size() == 2 ? net.matmul(a, b, transposed)
                                     : net.batch_matmul(a, b, transposed);
          }};
}

Layer convolution(std::string name, std::vector<std::int64_t> shape, Conv2d settings) {
  return {std::move(name), std::move(shape),
          [settings](ModelBuilder& net, Tensor x) { return net.conv2d(x, settings); }};
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(All, GradientsOfProducts, testing::Values(
  convolution("conv2d_same", {2, 3, 5, 4}, {.filters = 2, .kernel = {3, 3}}),
  convolution("conv2d_with_strides", {2, 2, 7, 6}, {.filters = 3, .kernel = {3, 2}, .stride = {2, 3}}),
  convolution("conv2d_valid_leaving_out_the_last", {1, 2, 6, 6},
              {.filters = 2, .kernel = {3, 3}, .stride = 2, .padding = Padding::kValid}),
  convolution("conv2d_dilated", {1, 2, 6, 5}, {.filters = 2, .kernel = {2, 3}, .dilation = 2}),
  Layer{"conv2d_transpose", {2, 3, 3, 2}, [](ModelBuilder& net, Tensor x) {
    return net.conv2d_transpose(x, {.filters = 2, .kernel = {3, 3}, .stride = 2}); }},
  product("matmul", {3, 5}, {5, 4}, {}),
  product("matmul_of_more_axes", {2, 3, 5}, {5, 4}, {}),
  product("matmul_left_transposed", {5, 3}, {5, 4}, {.left = true}),
  product("matmul_right_transposed", {3, 5}, {4, 5}, {.right = true}),
  product("matmul_both_transposed", {5, 3}, {4, 5}, {.left = true, .right = true}),
  product("batch_matmul", {2, 3, 5}, {2, 5, 4}, {}),
  product("batch_matmul_of_heads", {2, 2, 3, 5}, {2, 2, 4, 5}, {.right = true}),
  product("batch_matmul_both_transposed", {2, 5, 3}, {2, 4, 5}, {.left = true, .right = true})),
  [](const auto& test) { return test.param.name; });
// clang-format on

}  // namespace
}  // namespace emplace::calibrate::products_on_cpu_test
