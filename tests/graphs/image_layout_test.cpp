#include "support/errors.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>

namespace emplace::image_layout_test {
namespace {

using testing::HasSubstr;

// Returns how many convolutions, and gradients of them, have which layout.
std::map<std::string, int> layouts_of(const std::string& graph) {
  std::map<std::string, int> counts;
  const OpGraph loaded = load_graph(graph);
  for (const auto op : boost::make_iterator_range(boost::vertices(loaded))) {
    if (const auto* conv = std::get_if<ConvAttributes>(&loaded[op].attributes)) {
      ++counts[conv->layout];
    }
  }
  return counts;
}

TEST(ImageLayout, IsThatOfAllConvolutionsAndTheirGradients) {
  const int all = layouts_of("resnet-50:batch=2").at("");
  EXPECT_GE(all, 3 * 53 - 1);  // the first one has no gradient of its input
  EXPECT_EQ(layouts_of("resnet-50:batch=2,layout=nchw"),
            (std::map<std::string, int>{{"nchw", all}}));
  EXPECT_EQ(layouts_of("resnet-50:batch=2,layout=nhwc,dtype=float16,micro-batches=2"),
            (std::map<std::string, int>{{"nhwc", 2 * all}}));
}

TEST(ImageLayout, OfAFileIsOneOfTwo) {
  std::string text = write_graph_json(load_graph("vgg-16:batch=1,training=false,layout=nchw"));
  EXPECT_NO_THROW(read_graph_json(text, "vgg.json"));
  const std::string layout = R"("layout": "nchw")";
  text.replace(text.find(layout), layout.size(), R"("layout": "ncwh")");
  EXPECT_THAT(test::error_of([&] { read_graph_json(text, "vgg.json"); }),
              HasSubstr("attributes/layout"));
}

}  // namespace
}  // namespace emplace::image_layout_test
