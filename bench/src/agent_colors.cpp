#include <emplace/bench/agent_colors.hpp>
#include <emplace/graphs/svg.hpp>

#include <algorithm>
#include <cstddef>

namespace emplace::bench {

LogPlot::Pen agent_pen(std::span<const std::string> agents, std::string_view agent) {
  const auto at = static_cast<std::size_t>(std::ranges::find(agents, agent) - agents.begin());
  return {.color = std::string(kPictureColors[at % kPictureColors.size()]),
          .dashed = at / kPictureColors.size() % 2 == 1};
}

}  // namespace emplace::bench
