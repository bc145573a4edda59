#include <emplace/graphs/image_layout.hpp>

#include <variant>

namespace emplace {
namespace {

constexpr const char* kNative = "native";

}  // namespace

OpGraph with_layout(OpGraph graph, const std::string& layout) {
  if (layout != kNative) {
    for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
      if (auto* conv = std::get_if<ConvAttributes>(&graph[op].attributes)) {
        conv->layout = layout;
      }
    }
  }
  return graph;
}

ParamSpec layout_parameter() {
  return {.name = "layout",
          .default_value = std::string(kNative),
          .choices = {kNative, "nchw", "nhwc"},
          .summary =
              "how images lie in memory: as suits the device, by channels, or with the "
              "channels of a place together (channels_last)"};
}

}  // namespace emplace
