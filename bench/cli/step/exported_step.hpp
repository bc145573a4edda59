#pragma once

// Searches for the placement that another program runs fastest. A format such as a device map of
// PyTorch cannot express every placement, so the fastest one may lose most of its gain when it is
// written (placement_format.hpp). Here searches run under several granularities (layers of one,
// two,
// ... elements of the scopes stay together), what each finds is written in the format, and what the
// format then says is simulated. From the fastest of these, climbs move whole layers: iterated
// local search. So the step of the answer is the one that the other program runs.

#include "placed_step.hpp"

#include <string>

namespace emplace::cli {

/// Returns the fastest of the placements that the format `name` can express, op by op; the budget
/// of `agent` is shared by the searches. Throws Error, kUnsupported if the format can express none
/// that keeps the constraints.
PlacedStep place_for_format(const std::string& name, const ProblemOptions& problem,
                            const AgentOptions& agent);

}  // namespace emplace::cli
