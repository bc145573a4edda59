#pragma once

#include <emplace/profiles/cluster.hpp>

#include <string>

namespace emplace::cli {

/// Returns lines for people: devices, transfers, and where the numbers come from.
std::string cluster_text(const Cluster& cluster);

}  // namespace emplace::cli
