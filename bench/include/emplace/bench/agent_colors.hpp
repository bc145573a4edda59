#pragma once

// The colours of agents: each has the same one in every picture of a run, whatever else the picture
// shows.

#include <emplace/bench/log_plot.hpp>

#include <span>
#include <string>
#include <string_view>

namespace emplace::bench {

/// Returns the pen of one of `agents`, the labels of a suite in its order: they take the colours of
/// kPictureColors in turn; up to four rounds of colours differ in their dashes.
LogPlot::Pen agent_pen(std::span<const std::string> agents, std::string_view agent);

}  // namespace emplace::bench
