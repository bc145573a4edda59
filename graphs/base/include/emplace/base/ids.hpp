#pragma once

// The integers by which the modules refer to ops, groups and devices. All count from 0 and index
// flat arrays, so they are plain integers, not handles.

#include <cstdint>

namespace emplace {

/// Index of an op in its graph, in the order in which the ops were added.
using OpId = std::int32_t;

/// Index of a group of ops in a Grouping; groups are numbered in topological order.
using GroupId = std::int32_t;

/// Index of a device in its cluster.
using DeviceId = std::int32_t;

}  // namespace emplace
