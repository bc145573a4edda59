// Inception-V3 against the numbers of its paper and of the models that were published with weights.

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <map>
#include <set>
#include <string>
#include <tuple>

namespace emplace::inception_v3_test {
namespace {

using testing::ElementsAre;

std::map<std::string, int> count_kinds(const OpGraph& graph, Phase phase) {
  std::map<std::string, int> counts;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    if (graph[op].phase == phase) {
      ++counts[graph[op].kind];
    }
  }
  return counts;
}

std::int64_t parameters_of(const OpGraph& graph, const std::string& ending) {
  std::int64_t sum = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    sum += graph[op].name.ends_with(ending) ? graph[op].parameters : 0;
  }
  return sum;
}

TEST(InceptionV3, HasThePublishedNumberOfParameters) {
  // torchvision's inception_v3: 27,161,264 in all; without AuxLogits 23,834,568.
  const OpGraph plain = load_graph("inception-v3:training=false,batch=1");
  EXPECT_EQ(totals(plain).parameters, 23'834'568);
  EXPECT_EQ(totals(load_graph("inception-v3:training=false,batch=1,auxiliary=true")).parameters,
            27'161'264);
  // The auxiliary head: 1x1 from 768 to 128, 5x5 to 768, scales and offsets, and a classifier.
  static_assert(27'161'264 - 23'834'568 ==
                768 * 128 + 2 * 128 + 128 * 768 * 25 + 2 * 768 + 768 * 1000 + 1000);
  // Its parts: the 94 convolutions have 17,216 filters, each with a scale and an offset.
  EXPECT_EQ(parameters_of(plain, "/conv2d/weights") + parameters_of(plain, "_2/weights") +
                parameters_of(plain, "_3/weights") + parameters_of(plain, "_4/weights") +
                parameters_of(plain, "_5/weights"),
            21'751'136);
  EXPECT_EQ(parameters_of(plain, "/scale_offset"), 2 * 17'216);
  EXPECT_EQ(parameters_of(plain, "matmul/weights") + parameters_of(plain, "bias_add/bias"),
            2048 * 1000 + 1000);
}

TEST(InceptionV3, MakesThePublishedMultiplyAddsForAnImage) {
  const OpGraph graph = load_graph("inception-v3:training=false,batch=1");
  const std::int64_t multiply_adds = test::flops_of(graph, {"conv2d", "matmul"}) / 2;
  EXPECT_NEAR(static_cast<double>(multiply_adds), 5.71e9, 0.005 * 5.71e9);  // torchvision
  EXPECT_EQ(multiply_adds, 5'713'216'096);
}

TEST(InceptionV3, BlocksHaveTheSizesOfThePapersTable) {
  const OpGraph graph = load_graph("inception-v3:training=false,batch=8");
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      {"stem/conv_1a/relu", {8, 32, 149, 149}},
      {"stem/conv_2a/relu", {8, 32, 147, 147}},
      {"stem/conv_2b/relu", {8, 64, 147, 147}},
      {"stem/pool_3a/max_pool", {8, 64, 73, 73}},
      {"stem/conv_3b/relu", {8, 80, 73, 73}},
      {"stem/conv_4a/relu", {8, 192, 71, 71}},
      {"stem/pool_5a/max_pool", {8, 192, 35, 35}},
      {"mixed_5b/concat", {8, 256, 35, 35}},
      {"mixed_5c/concat", {8, 288, 35, 35}},
      {"mixed_5d/concat", {8, 288, 35, 35}},
      {"mixed_6a/concat", {8, 768, 17, 17}},
      {"mixed_6b/concat", {8, 768, 17, 17}},
      {"mixed_6c/concat", {8, 768, 17, 17}},
      {"mixed_6d/concat", {8, 768, 17, 17}},
      {"mixed_6e/concat", {8, 768, 17, 17}},
      {"mixed_7a/concat", {8, 1280, 8, 8}},
      {"mixed_7b/concat", {8, 2048, 8, 8}},
      {"mixed_7c/concat", {8, 2048, 8, 8}},
      {"mixed_7c/branch_1/concat", {8, 768, 8, 8}},
      {"logits/avg_pool", {8, 2048}},
      {"logits/bias_add", {8, 1000}},
  };
  for (const auto& [name, shape] : expected) {
    EXPECT_EQ(test::find(graph, name).outputs.at(0).shape, shape) << name;
  }
}

TEST(InceptionV3, TheForwardGraphHasTheLayersOfThePublishedModels) {
  const OpGraph graph = load_graph("inception-v3:training=false");
  EXPECT_EQ(count_kinds(graph, Phase::kForward),
            (std::map<std::string, int>{{"input", 2},
                                        {"variable", 94 + 94 + 2},
                                        {"conv2d", 94},
                                        {"batch_norm", 94},
                                        {"relu", 94},
                                        {"max_pool", 4},   // two in the stem, one in 6a and in 7a
                                        {"avg_pool", 10},  // one in each of 9 blocks, and the head
                                        {"concat", 11 + 4},  // blocks, and branches of 7b and 7c
                                        {"dropout", 1},
                                        {"matmul", 1},
                                        {"bias_add", 1},
                                        {"softmax_cross_entropy", 1}}));
  EXPECT_EQ(num_ops(graph), 507);
}

TEST(InceptionV3, TheTrainingGraphHasEachGradientOnceAndOneUpdateForEachVariable) {
  const OpGraph graph = load_graph("inception-v3");
  EXPECT_EQ(count_kinds(graph, Phase::kBackward),
            (std::map<std::string, int>{{"conv2d_backward_filter", 94},
                                        {"conv2d_backward_data", 93},  // none for the images
                                        {"batch_norm_backward", 94},
                                        {"relu_backward", 94},
                                        {"max_pool_backward", 4},
                                        {"avg_pool_backward", 10},
                                        {"split", 15},
                                        {"add_n", 11 + 4},  // where a block, or a branch, fans out
                                        {"dropout_backward", 1},
                                        {"matmul", 2},
                                        {"bias_add_backward", 1},
                                        {"softmax_cross_entropy_backward", 1}}));
  EXPECT_EQ(count_kinds(graph, Phase::kUpdate),
            (std::map<std::string, int>{{"optimizer_update", 190}}));
  EXPECT_EQ(num_ops(graph), 507 + 424 + 190);
}

TEST(InceptionV3, ABackwardPassIsAboutTwoForwardPasses) {
  const OpGraph graph = load_graph("inception-v3:batch=1");
  const std::int64_t forward = test::flops_of(graph, {"conv2d"});
  EXPECT_EQ(test::flops_of(graph, {"conv2d_backward_filter"}), forward);
  EXPECT_EQ(test::flops_of(graph, {"conv2d_backward_data"}),
            forward - test::find(graph, "stem/conv_1a/conv2d").flops);
}

TEST(InceptionV3, EveryOpHasAScopeAndBranchesAreNumberedByRole) {
  const OpGraph graph = load_graph("inception-v3:auxiliary=true");
  std::map<std::string, std::set<std::string>> branches;
  std::set<std::string> tops;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const std::string& scope = graph[op].scope;
    ASSERT_FALSE(scope.empty()) << graph[op].name;
    EXPECT_TRUE(graph[op].name.starts_with(scope + "/")) << graph[op].name;
    const auto slash = scope.find('/');
    tops.insert(scope.substr(0, slash));
    if (scope.starts_with("mixed_") && slash != std::string::npos) {
      branches[scope.substr(0, slash)].insert(scope.substr(slash + 1));
    }
  }
  EXPECT_THAT(tops, ElementsAre("auxiliary", "input", "logits", "mixed_5b", "mixed_5c", "mixed_5d",
                                "mixed_6a", "mixed_6b", "mixed_6c", "mixed_6d", "mixed_6e",
                                "mixed_7a", "mixed_7b", "mixed_7c", "stem"));
  for (const auto& [block, names] : branches) {
    if (block == "mixed_6a" || block == "mixed_7a") {
      EXPECT_THAT(names, ElementsAre("branch_1", "branch_2", "branch_3")) << block;
    } else {
      EXPECT_THAT(names, ElementsAre("branch_0", "branch_1", "branch_2", "branch_3")) << block;
    }
  }
}

TEST(InceptionV3, AnOptimizersSlotsAreKeptBesideTheParameters) {
  // Parameters, moving mean and variance of each filter, and two slots of Adam or none of plain
  // SGD.
  constexpr std::int64_t kParameterBytes = 4 * 23'834'568;
  constexpr std::int64_t kMovingBytes = 4 * 2 * 17'216;
  const GraphTotals adam = totals(load_graph("inception-v3"));
  EXPECT_EQ(adam.parameter_bytes, kParameterBytes);
  EXPECT_EQ(adam.persistent_bytes, 3 * kParameterBytes + kMovingBytes);
  EXPECT_EQ(totals(load_graph("inception-v3:optimizer=sgd")).persistent_bytes,
            kParameterBytes + kMovingBytes);
}

TEST(InceptionV3, GroupsNeverMixTwoBranchesOfABlockInOnePass) {
  for (const char* spec : {"inception-v3", "inception-v3:auxiliary=true",
                           "inception-v3:batch=1,optimizer=sgd", "inception-v3:training=false"}) {
    const OpGraph graph = load_graph(spec);
    const Grouping grouping = group_ops(graph);
    EXPECT_GE(grouping.size(), 50) << spec;
    EXPECT_LE(grouping.size(), 200) << spec;
    for (GroupId group = 0; group < grouping.size(); ++group) {
      std::map<std::tuple<std::string, bool>, std::set<std::string>> branches;
      for (const OpId op : grouping.members(group)) {
        const Op& member = graph[static_cast<std::size_t>(op)];
        const auto slash = member.scope.find('/');
        if (member.scope.starts_with("mixed_") && slash != std::string::npos) {
          branches[{member.scope.substr(0, slash), member.phase == Phase::kForward}].insert(
              member.scope.substr(slash));
        }
      }
      for (const auto& [block, names] : branches) {
        EXPECT_EQ(names.size(), 1U) << spec << ": group " << group << " in " << std::get<0>(block);
      }
    }
  }
}

}  // namespace
}  // namespace emplace::inception_v3_test
