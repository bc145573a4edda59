#include "workflow.hpp"

namespace emplace {

OpId Workflow::add(const Op& op, WorkflowFiles files) {
  files_.push_back(std::move(files));
  return static_cast<OpId>(boost::add_vertex(op, graph_));
}

void Workflow::connect(OpId parent, OpId child) {
  if (!pairs_.emplace(parent, child).second) {
    return;
  }
  const std::map<std::string, std::int32_t>& outputs = files_[parent].outputs;
  bool moves_any = false;
  for (const std::string& file : files_[child].inputs) {
    if (const auto output = outputs.find(file); output != outputs.end()) {
      add_dependency(graph_, parent, output->second, child);
      moves_any = true;
    }
  }
  if (!moves_any) {
    add_dependency(graph_, parent, Dependency::kControl, child);
  }
}

bool add_output(Op& op, WorkflowFiles& files, const std::string& file, std::int64_t bytes) {
  if (!files.outputs.emplace(file, static_cast<std::int32_t>(op.outputs.size())).second) {
    return false;
  }
  op.outputs.push_back({.bytes = bytes});
  return true;
}

}  // namespace emplace
