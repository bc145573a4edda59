#pragma once

// Tasks that hand files to each other, of which the formats of scientific workflows consist
// (WfCommons, Pegasus' DAX). A task becomes an op, each file that it writes an output. Between a
// task and its child goes each file that the one writes and the other reads; several children share
// it. Where there is none, the edge only orders.

#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace emplace {

/// Holds the files of a task.
struct WorkflowFiles {
  std::vector<std::string> inputs{};
  std::map<std::string, std::int32_t> outputs{};  ///< index among the outputs of the op, by file
};

/// Builds the graph of a workflow.
class Workflow {
 public:
  /// Adds a task.
  OpId add(const Op& op, WorkflowFiles files);

  /// Lets `child` wait for `parent`; a pair that was connected already stays as it is. Requires:
  /// they are two tasks.
  void connect(OpId parent, OpId child);

  const WorkflowFiles& files(OpId task) const { return files_[task]; }
  OpId num_tasks() const { return files_.end_id(); }
  OpGraph& graph() { return graph_; }

 private:
  OpGraph graph_;
  IdVector<OpId, WorkflowFiles> files_;
  std::set<std::pair<OpId, OpId>> pairs_;
};

/// Adds a file of `bytes` to what the task of `op` writes; returns whether it is new.
bool add_output(Op& op, WorkflowFiles& files, const std::string& file, std::int64_t bytes);

}  // namespace emplace
