#pragma once

// Names in suites: how those of suites and policies are written, and what those of graphs, clusters
// and agents stand for.

#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

using Names = std::vector<std::string>;

/// Says whether a name of a suite or cluster is the path of a file.
bool names_file(std::string_view name_or_path);

/// Says whether `name` may be part of the names of files: see kKebabCase.
bool is_kebab_case(std::string_view name);

/// What is_kebab_case() asks for.
inline constexpr std::string_view kKebabCase =
    "expected lower-case letters, digits and single '-', at most 64 of them";

/// Each returns what a name in a suite stands for, and throws where there is no such graph,
/// cluster, agent or parameter. Files are not opened.
Names expand_graph(const std::string& name);
Names expand_cluster(const std::string& name);
Names expand_agent(const std::string& name);

/// Does the same for an agent that learns a policy.
Names expand_trainable_agent(const std::string& name);

}  // namespace emplace::bench
