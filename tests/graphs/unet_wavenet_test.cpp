// U-Net and WaveNet against published numbers and closed forms.

#include "support/errors.hpp"

#include <emplace/graphs/catalog.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <string>
#include <vector>

namespace emplace::unet_wavenet_test {
namespace {

using test::count_kinds;
using test::find;
using testing::HasSubstr;

std::int64_t convolution_multiply_adds(const OpGraph& graph) {
  std::int64_t flops = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    flops += graph[op].kind.starts_with("conv2d") ? graph[op].flops : 0;
  }
  return flops / 2;
}

TEST(Unet, HasTheParametersThatFrameworksCount) {
  // The figure's network with one number for a pixel and two classes: 31,030,658 in Keras and
  // PyTorch. Three numbers for a pixel are 2 x 9 x 64 weights more.
  EXPECT_EQ(totals(load_graph("unet:training=false")).parameters, 31'030'658);
  EXPECT_EQ(totals(load_graph("unet")).parameters, 31'030'658);
  EXPECT_EQ(totals(load_graph("unet:image-channels=3")).parameters, 31'030'658 + 2 * 9 * 64);
}

TEST(Unet, MapsHaveTheSizesOfThePapersFigure) {
  const OpGraph graph = load_graph("unet:training=false,batch=1");
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(find(graph, "down_0/relu").outputs.at(0).shape, (Shape{1, 64, 570, 570}));
  EXPECT_EQ(find(graph, "down_0/relu_2").outputs.at(0).shape, (Shape{1, 64, 568, 568}));
  EXPECT_EQ(find(graph, "down_3/relu_2").outputs.at(0).shape, (Shape{1, 512, 64, 64}));
  EXPECT_EQ(find(graph, "bottom/relu_2").outputs.at(0).shape, (Shape{1, 1024, 28, 28}));
  EXPECT_EQ(find(graph, "up_3/conv2d_transpose").outputs.at(0).shape, (Shape{1, 512, 56, 56}));
  EXPECT_EQ(find(graph, "up_3/concat").outputs.at(0).shape, (Shape{1, 1024, 56, 56}));
  EXPECT_EQ(find(graph, "up_0/relu_2").outputs.at(0).shape, (Shape{1, 64, 388, 388}));
  auto counts = count_kinds(graph);
  EXPECT_EQ(counts["conv2d"], 19);  // the paper's 23 convolutional layers, with the next four
  EXPECT_EQ(counts["conv2d_transpose"], 4);
  EXPECT_EQ(counts["slice"], 4);
}

TEST(Unet, AnImageThatDoesNotHalveEvenlyIsRefused) {
  EXPECT_THAT(test::error_of(ErrorCode::kUsage, [&] { load_graph("unet:image=512"); }),
              HasSubstr("188, 204"));
}

TEST(Wavenet, HasTheParametersOfItsConvolutions) {
  // 18 layers of a filter and a gate over 2 samples and of what goes into the sum; 17 of what goes
  // on to the next layer; all with biases.
  constexpr std::int64_t c = 32;
  constexpr std::int64_t s = 512;
  constexpr std::int64_t kLayer = 2 * (2 * c * c + c) + c * s + s;
  EXPECT_EQ(totals(load_graph("wavenet")).parameters,
            2 * 256 * c + c + 18 * kLayer + 17 * (c * c + c) + s * s + s + s * 256 + 256);
}

TEST(Wavenet, MultipliesOnceForEachWeightAndSample) {
  // Every weight that is no bias meets every sample: 18 layers have 32 + 32 + 512 biases, 17 have
  // 32, and the first and the last two layers 32 + 512 + 256.
  const OpGraph graph = load_graph("wavenet:training=false,batch=3,samples=1000");
  EXPECT_EQ(
      convolution_multiply_adds(graph),
      3 * 1000 * (totals(graph).parameters - 18 * (32 + 32 + 512) - 17 * 32 - (32 + 512 + 256)));
}

TEST(Wavenet, ReachDoublesFromLayerToLayerInEveryStack) {
  const OpGraph graph = load_graph("wavenet:stacks=2,layers=4,training=false");
  std::vector<std::int64_t> dilations;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    if (graph[op].kind == "conv2d" && graph[op].name.ends_with("/conv2d")) {
      dilations.push_back(graph[op].shape.at(9));
    }
  }
  EXPECT_EQ(dilations, (std::vector<std::int64_t>{1, 1, 2, 4, 8, 1, 2, 4, 8, 1}));
}

TEST(UnetAndWavenet, AShorterTypeHalvesWhatTheyHold) {
  for (const std::string name : {"unet", "wavenet"}) {
    EXPECT_EQ(totals(load_graph(name)).persistent_bytes,
              2 * totals(load_graph(name + ":type=float16")).persistent_bytes)
        << name;
  }
}

TEST(UnetAndWavenet, EveryVariableOfATrainingGraphIsUpdatedOnce) {
  for (const char* spec : {"unet", "wavenet"}) {
    auto counts = count_kinds(load_graph(spec));
    EXPECT_GT(counts["variable"], 0) << spec;
    EXPECT_EQ(counts["optimizer_update"], counts["variable"]) << spec;
    EXPECT_EQ(counts["softmax_cross_entropy"], 1) << spec;
  }
}

}  // namespace
}  // namespace emplace::unet_wavenet_test
