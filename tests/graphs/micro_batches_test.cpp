#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/micro_batches.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/optimizer.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/graphs.hpp>
#include <support/test_names.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace emplace::micro_batches_test {
namespace {

using test::find;
using test::inputs_of;
using testing::ElementsAre;
using testing::HasSubstr;

// x [batch, 4] -> dense [batch, 3] -> loss, or with a second layer.
OpGraph step(std::int64_t batch, int layers = 1) {
  ModelBuilder net("small");
  Tensor x = net.input("x", {batch, 4});
  for (int i = 0; i < layers; ++i) {
    x = net.dense(x, 3);
  }
  net.softmax_cross_entropy(x, net.input("labels", {batch}, DataType::kInt32));
  return training_graph(std::move(net).finish(), find_optimizer("momentum"));
}

OpGraph cut(const OpGraph& whole, const std::vector<OpGraph>& parts) {
  return micro_batches(
      whole, std::vector<std::reference_wrapper<const OpGraph>>(parts.begin(), parts.end()));
}

std::vector<std::string> update_inputs(const OpGraph& graph) {
  return inputs_of(graph, "matmul/weights/update");
}

TEST(MicroBatches, RunForwardAndBackwardOnceForEachAndTheRestOnce) {
  const OpGraph whole = step(6);
  const OpGraph graph = cut(whole, {step(3), step(2), step(1)});
  EXPECT_THAT(inputs_of(graph, "matmul"), ElementsAre("x:0", "matmul/weights:0"));
  EXPECT_THAT(inputs_of(graph, "matmul#2"), ElementsAre("x#2:0", "matmul/weights:0"));
  EXPECT_EQ(find(graph, "x").outputs[0].shape[0], 3);
  EXPECT_EQ(find(graph, "x#1").outputs[0].shape[0], 2);
  EXPECT_EQ(find(graph, "x#2").outputs[0].shape[0], 1);
  EXPECT_EQ(totals(graph).parameters, totals(whole).parameters);
  EXPECT_EQ(totals(graph).persistent_bytes, totals(whole).persistent_bytes);
  EXPECT_EQ(test::count_kinds(graph)["optimizer_update"],
            test::count_kinds(whole)["optimizer_update"]);
}

TEST(MicroBatches, AddUpGradientsOneByOneWhereTheyAreMade) {
  const OpGraph whole = step(6);
  const OpGraph graph = cut(whole, {step(2), step(2), step(2)});
  const std::string gradient = test::producers_of(whole, "matmul/weights/update").front();
  EXPECT_THAT(update_inputs(graph), ElementsAre(gradient + "/accumulate#2:0", "matmul/weights:0"));
  EXPECT_THAT(inputs_of(graph, gradient + "/accumulate#2"),
              ElementsAre(gradient + "/accumulate#1:0", gradient + "#2:0"));
  EXPECT_THAT(inputs_of(graph, gradient + "/accumulate#1"),
              ElementsAre(gradient + ":0", gradient + "#1:0"));
  const Op& sum = find(graph, gradient + "/accumulate#1");
  EXPECT_EQ(sum.kind, "add_n");
  EXPECT_EQ(sum.flops, 4 * 3);
  EXPECT_EQ(sum.outputs[0].shape, find(whole, "matmul/weights").outputs[0].shape);
  EXPECT_EQ(sum.colocation, find(graph, gradient + "#2").colocation);
}

TEST(MicroBatches, ShareTheGroupsOfTheWholeStep) {
  const OpGraph whole = step(6, 2);
  const OpGraph graph = cut(whole, {step(3, 2), step(3, 2)});
  const Grouping groups = find_grouping("colocation").group(graph, 1);
  EXPECT_EQ(groups.size(), find_grouping("colocation").group(whole, 1).size());
  EXPECT_EQ(groups.group_of(test::op_named(graph, "matmul")),
            groups.group_of(test::op_named(graph, "matmul#1")));
}

// As torch.tensor_split has them.
TEST(MicroBatches, OfABatchThatDoesNotDivideDifferByOneAndAreTold) {
  const OpGraph graph = load_graph("vgg-16:batch=8,micro-batches=3");
  EXPECT_EQ(find(graph, "input/images").outputs[0].shape[0], 3);
  EXPECT_EQ(find(graph, "input/images#1").outputs[0].shape[0], 3);
  EXPECT_EQ(find(graph, "input/images#2").outputs[0].shape[0], 2);
  EXPECT_THAT(graph[boost::graph_bundle].warnings,
              ElementsAre(HasSubstr("batch of 8 does not divide into 3 micro-batches")));
  EXPECT_TRUE(load_graph("vgg-16:batch=8,micro-batches=4")[boost::graph_bundle].warnings.empty());
}

TEST(MicroBatches, HaveAScheduleThatGroupsIgnore) {
  for (const char* schedule : {"schedule=gpipe", "in-flight=2"}) {
    const OpGraph graph = load_graph(fmt::format("vgg-16:batch=4,micro-batches=4,{}", schedule));
    const OpGraph plain = load_graph("vgg-16:batch=4");
    EXPECT_EQ(find_grouping("colocation").group(graph, 1).size(),
              find_grouping("colocation").group(plain, 1).size());
    EXPECT_GT(boost::num_edges(graph),
              boost::num_edges(load_graph("vgg-16:batch=4,micro-batches=4")));
  }
}

TEST(MicroBatches, WaitWithTheirInputsAndNotWithCastsOfWeights) {
  const OpGraph graph = load_graph("vgg-16:batch=4,dtype=float16,micro-batches=2,in-flight=1");
  EXPECT_THAT(inputs_of(graph, "input/images#1"), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(inputs_of(graph, "fc6/matmul/weights/cast#1"), ElementsAre("fc6/matmul/weights:0"));
}

TEST(MicroBatches, OfOneForwardOneBackwardPreferThatAndTheEarlier) {
  const OpGraph graph = load_graph("vgg-16:batch=4,micro-batches=2");
  const auto priority = [&](std::string_view name) { return find(graph, name).priority; };
  EXPECT_GT(priority("fc6/matmul/grad_right#1"), priority("fc6/matmul"));
  EXPECT_GT(priority("fc6/matmul/grad_right"), priority("fc6/matmul/grad_right#1"));
  EXPECT_GT(priority("fc6/matmul"), priority("fc6/matmul#1"));
  EXPECT_GT(priority("fc6/matmul/weights"), priority("fc6/matmul/grad_right"));
  EXPECT_GT(priority("fc7/matmul/grad_right"), priority("fc6/matmul/grad_left"));
}

TEST(MicroBatches, WithoutBubblesLetGradientsOfWeightsWait) {
  const OpGraph graph = load_graph("vgg-16:batch=4,micro-batches=2,schedule=zero-bubble");
  const auto priority = [&](std::string_view name) { return find(graph, name).priority; };
  EXPECT_GT(priority("fc7/matmul/grad_left#1"), priority("fc7/matmul"));
  EXPECT_LT(priority("fc7/matmul/grad_right"), priority("fc7/matmul#1"));
  EXPECT_LT(priority("fc7/matmul/grad_right/accumulate#1"), priority("fc7/matmul/grad_right"));
  const OpGraph half =
      load_graph("vgg-16:batch=4,dtype=float16,micro-batches=2,schedule=zero-bubble");
  EXPECT_LT(find(half, "fc7/matmul/grad_right").priority, find(half, "fc7/matmul#1").priority);
}

TEST(MicroBatches, AreAllInFlightByTheScheduleOfGPipe) {
  EXPECT_EQ(
      test::error_of(
          ErrorCode::kUsage,
          [] { load_graph("vgg-16:batch=4,micro-batches=2,schedule=gpipe,in-flight=1"); }),
      "graph vgg-16: in-flight is 1, but with schedule=gpipe all micro-batches are in flight");
}

TEST(MicroBatches, AreNoMoreThanTheBatch) {
  EXPECT_EQ(test::error_of(ErrorCode::kUsage, [] { load_graph("vgg-16:batch=4,micro-batches=5"); }),
            "graph vgg-16: micro-batches is 5, expected at most the batch, 4");
}

// Only rows that are looked up have a gradient, so those of the parts are joined.
TEST(MicroBatches, JoinRowsOfTables) {
  const OpGraph whole = load_graph("dlrm:batch=64");
  const OpGraph graph = load_graph("dlrm:batch=64,micro-batches=4");
  EXPECT_GT(test::count_kinds(graph)["concat"], 4 * test::count_kinds(whole)["concat"]);
  EXPECT_EQ(test::flops_of(graph, {"optimizer_update"}),
            test::flops_of(whole, {"optimizer_update"}));
}

TEST(MicroBatches, AreOfTheSameNetwork) {
  EXPECT_THAT(test::error_of(ErrorCode::kUnsupported,
                             [] {
                               cut(step(4, 2), {step(2, 2), step(2)});
                             }),
              HasSubstr("graph 'small' cannot have its batch in parts"));
}

class MicroBatchesOfModel : public testing::TestWithParam<std::string> {};

TEST_P(MicroBatchesOfModel, ComputeWhatTheStepComputes) {
  const std::string member = GraphCatalog::global().find(GetParam()).is_family ? ",member=0" : "";
  const OpGraph whole = load_graph(GetParam() + ":batch=4" + member);
  const OpGraph graph = load_graph(GetParam() + ":batch=4,micro-batches=2" + member);
  EXPECT_EQ(totals(graph).parameters, totals(whole).parameters);
  EXPECT_EQ(find_grouping("colocation").group(graph, 1).size(),
            find_grouping("colocation").group(whole, 1).size());
  std::int64_t sums = 0;
  for (const auto& [kind, count] : test::count_kinds(graph)) {
    sums += kind == "add_n" ? count : 0;
  }
  EXPECT_GE(sums, 1);
  // Besides sums of gradients, a few ops work on weights only, once for each micro-batch.
  EXPECT_GE(totals(graph).flops, totals(whole).flops);
  EXPECT_LE(totals(graph).flops,
            totals(whole).flops + totals(whole).flops / 20 + 40 * totals(whole).parameters);
}

INSTANTIATE_TEST_SUITE_P(Zoo, MicroBatchesOfModel,
                         testing::ValuesIn(test::models_with("micro-batches")),
                         test::kNamedByParameter);

}  // namespace
}  // namespace emplace::micro_batches_test
