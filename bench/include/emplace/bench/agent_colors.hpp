#pragma once

// The colours of agents: each has the same one in every picture of a run, whatever else the picture
// shows.

#include <emplace/bench/log_plot.hpp>

#include <span>
#include <string>
#include <string_view>

namespace emplace::bench {

/// Returns the pen of one of `agents`, the labels of a suite in its order: their colours are those
/// of kPictureColors in turn; four rounds of them differ by how their curves are dashed.
LogPlot::Pen agent_pen(std::span<const std::string> agents, std::string_view agent);

}  // namespace emplace::bench
