#include "node_call.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace emplace::tensorflow {

std::string text_of(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::int64_t NodeCall::scalar(std::size_t i) const {
  if (integers(i).size() != 1) {
    fail_shapes(fmt::format("expected one number at input {}, found {}", i, integers(i).size()));
  }
  return integers(i)[0];
}

void expect_rank(const NodeCall& call, std::size_t input, std::size_t rank) {
  if (call.rank(input) != rank) {
    fail_shapes(fmt::format("expected {} dimensions at input {}, found {}", rank, input,
                            text_of(call.shape(input))));
  }
}

MapLayout layout_of(const proto::NodeDef& node, std::size_t rank) {
  const std::string format = text_attribute(node, "data_format", rank == 5 ? "NDHWC" : "NHWC");
  if (format != "NHWC" && format != "NCHW" && format != "NDHWC" && format != "NCDHW") {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the data_format '{}' is not supported", excerpt(format)));
  }
  if (format.size() != rank) {
    fail_shapes(
        fmt::format("expected maps of {} dimensions ({}), found {}", format.size(), format, rank));
  }
  return format[1] == 'C' ? MapLayout{.channels = 1, .first = 2, .spatial = rank - 2}
                          : MapLayout{.channels = rank - 1, .first = 1, .spatial = rank - 2};
}

Output channels_first(Output maps, const MapLayout& layout) {
  const Shape& shape = maps.shape;
  if (shape.size() != layout.spatial + 2) {
    fail_shapes(fmt::format("expected maps of {} dimensions, found {}", layout.spatial + 2,
                            text_of(shape)));
  }
  Shape first{shape[0], shape[layout.channels]};
  const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(layout.first);
  first.insert(first.end(), begin, begin + static_cast<std::ptrdiff_t>(layout.spatial));
  maps.shape = std::move(first);
  return maps;
}

Shape to_layout(const Shape& maps, const MapLayout& layout) {
  Shape shape(maps.size(), maps[0]);
  shape[layout.channels] = maps[1];
  std::copy(maps.begin() + 2, maps.end(),
            shape.begin() + static_cast<std::ptrdiff_t>(layout.first));
  return shape;
}

}  // namespace emplace::tensorflow
