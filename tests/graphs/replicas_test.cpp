#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/optimizer.hpp>
#include <emplace/graphs/replicas.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/graphs.hpp>
#include <support/test_names.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace emplace::replicas_test {
namespace {

using test::find;
using test::inputs_of;
using testing::ElementsAre;
using testing::HasSubstr;

// x [batch, 4] -> dense [batch, 3] -> loss: 12 weights, and 3 of the bias.
OpGraph step(std::int64_t batch) {
  ModelBuilder net("small");
  const Tensor x = net.dense(net.input("x", {batch, 4}), 3);
  net.softmax_cross_entropy(x, net.input("labels", {batch}, DataType::kInt32));
  return training_graph(std::move(net).finish(), find_optimizer("momentum"));
}

OpGraph replicas_of(const std::vector<OpGraph>& parts, std::int64_t bucket_bytes = kBucketBytes) {
  return replicas(std::vector<std::reference_wrapper<const OpGraph>>(parts.begin(), parts.end()),
                  bucket_bytes);
}

TEST(Replicas, HaveTheirOwnVariablesScopesAndLabels) {
  const OpGraph one = step(2);
  const OpGraph graph = replicas_of({step(2), step(1)});
  EXPECT_EQ(totals(graph).parameters, 2 * totals(one).parameters);
  EXPECT_THAT(inputs_of(graph, "matmul@1"), ElementsAre("x@1:0", "matmul/weights@1:0"));
  EXPECT_EQ(find(graph, "x@1").outputs[0].shape[0], 1);
  EXPECT_EQ(find(graph, "matmul@1").replica, 1);
  EXPECT_EQ(find(graph, "matmul@1").scope, "replica_1");
  EXPECT_EQ(find(graph, "matmul").scope, "replica_0");
  EXPECT_EQ(find(graph, "matmul@1").colocation, find(one, "matmul").colocation + "@1");
}

// Chunk c is summed up from replica c on and ends on the one before it; then it goes around.
TEST(Replicas, AddUpABucketByARing) {
  const OpGraph graph = replicas_of({step(2), step(2), step(2)});
  EXPECT_THAT(inputs_of(graph, "all_reduce/bucket_0/reduce_scatter_1@2"),
              ElementsAre("all_reduce/bucket_0/flatten@1:1", "all_reduce/bucket_0/flatten@2:1"));
  EXPECT_THAT(
      inputs_of(graph, "all_reduce/bucket_0/reduce_scatter_1"),
      ElementsAre("all_reduce/bucket_0/reduce_scatter_1@2:0", "all_reduce/bucket_0/flatten:1"));
  EXPECT_THAT(inputs_of(graph, "all_reduce/bucket_0/all_gather_1@1"),
              ElementsAre("all_reduce/bucket_0/reduce_scatter_1:0"));
  EXPECT_THAT(inputs_of(graph, "all_reduce/bucket_0/all_gather_1@2"),
              ElementsAre("all_reduce/bucket_0/all_gather_1@1:0"));
  EXPECT_THAT(
      inputs_of(graph, "all_reduce/bucket_0/unflatten@2"),
      ElementsAre("all_reduce/bucket_0/reduce_scatter_0@2:0",
                  "all_reduce/bucket_0/all_gather_1@2:0", "all_reduce/bucket_0/all_gather_2@2:0"));
  const Op& flatten = find(graph, "all_reduce/bucket_0/flatten");
  ASSERT_EQ(flatten.outputs.size(), 3);
  for (const Output& chunk : flatten.outputs) {
    EXPECT_THAT(chunk.shape, ElementsAre((12 + 3) / 3));
  }
  EXPECT_EQ(flatten.bytes_read, 15 * 4);
  EXPECT_EQ(flatten.bytes_written, 15 * 4);
  EXPECT_EQ(find(graph, "all_reduce/bucket_0/reduce_scatter_1").flops, 5);
  EXPECT_EQ(find(graph, "all_reduce/bucket_0/all_gather_1@1").bytes_read, 0);
}

TEST(Replicas, UpdateByTheSum) {
  const OpGraph graph = replicas_of({step(2), step(2)});
  EXPECT_EQ(inputs_of(graph, "matmul/weights/update@1").back(), "matmul/weights@1:0");
  EXPECT_THAT(inputs_of(graph, "matmul/weights/update@1").front(),
              HasSubstr("all_reduce/bucket_0/unflatten@1:"));
  EXPECT_THAT(inputs_of(graph, "matmul/weights/update").front(),
              HasSubstr("all_reduce/bucket_0/unflatten:"));
}

// As DistributedDataParallel: a bucket takes gradients until it is full.
TEST(Replicas, FillBucketsInTheOrderOfTheBackwardPass) {
  const auto num_buckets = [](std::int64_t bytes) {
    return test::count_kinds(replicas_of({step(2), step(2)}, bytes))["flatten_dense_tensors"] / 2;
  };
  EXPECT_EQ(num_buckets(4), 2);
  EXPECT_EQ(num_buckets(12), 2);
  EXPECT_EQ(num_buckets(48), 1);
  const OpGraph graph = load_graph("vgg-16:batch=2,replicas=2");
  EXPECT_THAT(test::producers_of(graph, "all_reduce/bucket_0/flatten").front(), HasSubstr("fc8"));
  EXPECT_THAT(test::producers_of(graph, "all_reduce/bucket_1/flatten"),
              ElementsAre("fc6/bias_add/grad_bias", "fc6/matmul/grad_right"));
}

// Only rows that are looked up have a gradient: every replica reads those of all.
TEST(Replicas, JoinRowsOfTables) {
  const OpGraph graph = load_graph("dlrm:batch=64,replicas=2");
  int joined = 0;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    if (const Op& here = graph[index_of(op)]; here.name.ends_with("/all_gather@1")) {
      ++joined;
      const std::string other = here.name.substr(0, here.name.size() - 2);
      EXPECT_EQ(inputs_of(graph, here.name), inputs_of(graph, other));
      EXPECT_EQ(test::producers_of(graph, other).size(), 2);
    }
  }
  EXPECT_GT(joined, 0);
}

// A placement of each is a pipeline.
TEST(Replicas, WorkInMicroBatches) {
  const OpGraph graph = load_graph("vgg-16:batch=8,replicas=2,micro-batches=2");
  EXPECT_EQ(find(graph, "input/images#1@1").outputs[0].shape[0], 2);
  EXPECT_EQ(find(graph, "fc6/matmul#1@1").replica, 1);
  EXPECT_EQ(find(graph, "fc6/matmul#1@1").micro_batch, 1);
  EXPECT_THAT(test::producers_of(graph, "all_reduce/bucket_0/flatten@1").front(),
              HasSubstr("/accumulate#1@1"));
}

// A sum that is ready waits for no backward op of a later micro-batch.
TEST(Replicas, AddUpBeforeOtherWork) {
  const OpGraph graph = load_graph("vgg-16:batch=8,replicas=2,micro-batches=2");
  const std::int32_t of_sum = find(graph, "all_reduce/bucket_0/reduce_scatter_0@1").priority;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    EXPECT_LE(graph[index_of(op)].priority, of_sum);
  }
  EXPECT_GT(of_sum, 0);
}

TEST(Replicas, ShareNoGroup) {
  const OpGraph graph = load_graph("vgg-16:batch=2,replicas=2");
  const Grouping groups = find_grouping("colocation").group(graph, 1);
  for (GroupId group = 0; group < groups.size(); ++group) {
    std::set<std::int32_t> replicas;
    for (const OpId op : groups.members(group)) {
      replicas.insert(graph[index_of(op)].replica);
    }
    EXPECT_EQ(replicas.size(), 1);
  }
}

TEST(Replicas, AreNoMoreThanTheBatch) {
  EXPECT_EQ(test::error_of(ErrorCode::kUsage, [] { load_graph("vgg-16:batch=4,replicas=5"); }),
            "graph vgg-16: replicas is 5, expected at most the batch, 4");
}

class ReplicasOfModel : public testing::TestWithParam<std::string> {};

TEST_P(ReplicasOfModel, ComputeWhatTheStepComputes) {
  const std::string member = GraphCatalog::global().find(GetParam()).is_family ? ",member=0" : "";
  const OpGraph whole = load_graph(GetParam() + ":batch=4" + member);
  const OpGraph graph = load_graph(GetParam() + ":batch=4,replicas=2" + member);
  EXPECT_EQ(totals(graph).parameters, 2 * totals(whole).parameters);
  EXPECT_GE(test::count_kinds(graph)["flatten_dense_tensors"], 2);
  // Besides, each replica adds up its share of the gradients, and updates all variables.
  EXPECT_GE(totals(graph).flops, totals(whole).flops);
  EXPECT_LE(totals(graph).flops,
            totals(whole).flops + totals(whole).flops / 20 + 40 * totals(whole).parameters);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ReplicasOfModel, testing::ValuesIn(test::models_with("replicas")),
                         test::kNamedByParameter);

}  // namespace
}  // namespace emplace::replicas_test
