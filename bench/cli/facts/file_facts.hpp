#pragma once

// What `emplace show` says of a file that is no graph.

#include <emplace/base/json.hpp>

#include <string>

namespace emplace::cli {

/// What a file holds, by the member "schema" of its JSON.
enum class FileKind {
  kGraph,  ///< or anything else, which the readers of graphs judge
  kCluster,
  kDeviceProfile,
  kPlacement,
  kPolicy,
  kSuite,
  kOther,  ///< a file of emplace that has no facts to show
};

/// Returns the kind of the file `path`; that of a file that cannot be read is kGraph.
FileKind kind_of_file(const std::string& path);

/// The facts of a file, for people and for programs.
struct FileFacts {
  std::string text{};
  Json json{};
};

/// Returns the graph and the cluster of a placement file, its devices with the number of their ops,
/// and how to simulate it. Throws Error.
FileFacts facts_of_placement(const std::string& path);

/// Returns how a policy was trained, and how to use it. Throws Error.
FileFacts facts_of_policy_file(const std::string& path);

/// Returns the graphs, clusters and agents of a suite, and how to run it. Throws Error.
FileFacts facts_of_suite(const std::string& path);

}  // namespace emplace::cli
