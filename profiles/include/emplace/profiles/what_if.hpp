#pragma once

// Changes to a cluster, for questions such as "what if the links were twice as fast?":
//
//     link:NAME.bandwidth=2x        link:NAME.latency=5us
//     device:NAME.memory=40GB       device:NAME.speed=2x       device:NAME.launch=0us
//
// A value is a factor, or for all but `speed` a number with its unit. The name of a device is also
// a pattern, as in constraints.hpp. A link is named as in its cluster, by its cable ("nvlink:0-1"),
// by what is before the ':' ("nvlink"), or by a pattern; "*" is all, and the channels of the
// `placeto` and `grappler` models have no other name.

#include <emplace/profiles/cluster.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Says whether `change` is one of a cluster: it begins with "link:" or "device:".
bool changes_cluster(std::string_view change);

/// Makes the changes, in order. Routes stay as they are. Throws kUnknownName for a device or link
/// that the cluster does not have, and kUsage for what is not written as above, is out of bounds,
/// or has no meaning in the cluster's transfer model.
void change(Cluster& cluster, const std::vector<std::string>& changes);

/// Returns the text with which load_cluster() makes `cluster`, a name or path with or without
/// parameters, with further changes. Throws kUsage if one contains ',' or ';'.
std::string with_changes(std::string_view cluster, const std::vector<std::string>& changes);

}  // namespace emplace
