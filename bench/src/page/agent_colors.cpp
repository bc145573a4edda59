#include <emplace/base/svg.hpp>
#include <emplace/bench/agent_colors.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace emplace::bench {
namespace {

// Of the curves of each round through the colours: as in SVG.
constexpr std::array<const char*, 4> kDashes = {"", LogPlot::kDashes, "2 2", "9 3 2 3"};

}  // namespace

LogPlot::Pen agent_pen(std::span<const std::string> agents, std::string_view agent) {
  const auto at = static_cast<std::size_t>(std::ranges::find(agents, agent) - agents.begin());
  return {.color = std::string(kPictureColors[at % kPictureColors.size()]),
          .dashes = kDashes[at / kPictureColors.size() % kDashes.size()]};
}

}  // namespace emplace::bench
