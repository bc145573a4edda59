#pragma once

// The kinds of names that users type.

namespace emplace::bench {

/// Lets messages about unknown names know those of graphs, clusters, agents, suites, groupings and
/// device profiles. Call it before threads start.
void tell_name_kinds();

}  // namespace emplace::bench
