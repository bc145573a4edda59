// Scientific workflows of WfCommons (Coleman et al. 2022), WfFormat 1.5, and the versions up
// to 1.4, which keep files and runtimes in the tasks; up to 1.2 these are called jobs.
//
// Tasks become ops (workflow.hpp). Files that no task writes are there before the workflow begins
// and cost nothing. A task of type transfer hands on the files that it moves. Runtimes become
// measured costs, memoryInBytes the workspace, the program the scope.

#include "workflow.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emplace::wfcommons_format {
namespace {

constexpr double kMaxSeconds = 1e12;

class WfCommonsReader {
 public:
  WfCommonsReader(const JsonCursor& root, const Params& params)
      : device_class_(params.get<std::string>("device-class")) {
    const JsonCursor workflow = root.at("workflow");
    const auto specification = workflow.find("specification");
    const JsonCursor tasks =
        specification ? specification->at("tasks") : either(workflow, "tasks", "jobs");
    if (specification) {
      read_file_sizes(*specification);
    }
    for (const JsonCursor& task : tasks.elements()) {
      read_task(task, specification.has_value());
    }
    if (workflow_.num_tasks() == 0) {
      tasks.fail("expected at least one task");
    }
    if (const auto execution = workflow.find("execution"); specification && execution) {
      for (const JsonCursor& task : execution->at("tasks").elements()) {
        read_execution(task, workflow_.graph()[index_of(find(task.at("id")))]);
      }
    }
  }

  OpGraph build() && {
    for (OpId task = 0; task < workflow_.num_tasks(); ++task) {
      for (const JsonCursor& parent : list(places_[task], "parents")) {
        connect(find(parent), task, parent);
      }
    }
    // Files may name an edge at its parent only.
    for (OpId task = 0; task < workflow_.num_tasks(); ++task) {
      for (const JsonCursor& child : list(places_[task], "children")) {
        connect(task, find(child), child);
      }
    }
    return workflow_.graph();
  }

 private:
  static std::vector<JsonCursor> list(const JsonCursor& object, std::string_view key) {
    const auto member = object.find(key);
    return member ? member->elements() : std::vector<JsonCursor>();
  }

  // Returns a member that was renamed between versions.
  static JsonCursor either(const JsonCursor& object, std::string_view key,
                           std::string_view old_key) {
    const auto member = object.find(old_key);
    return member ? *member : object.at(key);
  }

  void read_file_sizes(const JsonCursor& specification) {
    for (const JsonCursor& file : list(specification, "files")) {
      const JsonCursor id = file.at("id");
      if (!bytes_of_.emplace(id.non_empty_text(), file.at("sizeInBytes").integer(0)).second) {
        id.fail("the file appears twice");
      }
    }
  }

  void read_task(const JsonCursor& place, bool has_specification) {
    const OpId task = workflow_.num_tasks();
    WorkflowFiles files;
    const JsonCursor name = place.at("name");
    const JsonCursor id = place.find("id").value_or(name);
    if (!op_of_.emplace(id.non_empty_text(), task).second) {
      id.fail(fmt::format("the task '{}' appears twice", excerpt(id.text())));
    }
    // Until 1.3 parents were called by their names, which need not be unique.
    const auto [named, is_new] = op_of_name_.emplace(name.non_empty_text(), task);
    if (!is_new) {
      named->second = kAmbiguous;
    }
    Op op{.name = id.text(), .kind = "task", .scope = name.text()};
    if (has_specification) {
      for (const JsonCursor& file : list(place, "inputFiles")) {
        files.inputs.push_back(file.non_empty_text());
      }
      for (const JsonCursor& file : list(place, "outputFiles")) {
        const auto bytes = bytes_of_.find(file.non_empty_text());
        if (bytes == bytes_of_.end()) {
          file.fail(fmt::format("no file has the id '{}'", excerpt(file.text())));
        }
        write_file(file, file.text(), bytes->second, files, op);
      }
    } else {
      read_inline_files(place, files, op);
      read_execution(place, op);
    }
    places_.push_back(place);
    workflow_.add(op, std::move(files));
  }

  // A transfer lists what it moves as what it stages in or out, and so once.
  static void read_inline_files(const JsonCursor& place, WorkflowFiles& files, Op& op) {
    constexpr std::array<std::string_view, 2> kLinks = {"input", "output"};
    const auto type = place.find("type");
    const bool is_transfer = type && type->text() == "transfer";
    for (const JsonCursor& file : list(place, "files")) {
      const JsonCursor id = either(file, "id", "name");
      const auto folder = file.find("path");
      const std::string name = (folder ? folder->text() : "") + id.non_empty_text();
      const std::int64_t bytes = either(file, "sizeInBytes", "size").integer(0);
      const bool is_input = file.at("link").one_of(kLinks) == 0;
      if (is_transfer) {
        if (add_output(op, files, name, bytes)) {
          files.inputs.push_back(name);
        }
      } else if (is_input) {
        files.inputs.push_back(name);
      } else {
        write_file(id, name, bytes, files, op);
      }
    }
  }

  static void write_file(const JsonCursor& place, const std::string& file, std::int64_t bytes,
                         WorkflowFiles& files, Op& op) {
    if (!add_output(op, files, file, bytes)) {
      place.fail("the file appears twice");
    }
  }

  void read_execution(const JsonCursor& task, Op& op) const {
    if (task.find("runtimeInSeconds") || task.find("runtime")) {
      const JsonCursor runtime = either(task, "runtimeInSeconds", "runtime");
      if (!op.measured.empty()) {
        runtime.fail(fmt::format("the task '{}' already has a runtime", excerpt(op.name)));
      }
      op.measured = {
          {.device_class = device_class_, .cost_us = runtime.number(0, kMaxSeconds) * 1e6}};
    }
    if (const auto memory = task.find("memoryInBytes")) {
      op.workspace_bytes = memory->integer(0);
    } else if (const auto kilobytes = task.find("memory")) {  // until 1.3
      constexpr double kMaxKilobytes = 9e15;
      op.workspace_bytes = std::llround(kilobytes->number(0, kMaxKilobytes) * 1000);
    }
  }

  OpId find(const JsonCursor& id) const {
    const std::string text = id.text();
    if (const auto found = op_of_.find(text); found != op_of_.end()) {
      return found->second;
    }
    const auto named = op_of_name_.find(text);
    if (named == op_of_name_.end()) {
      id.fail(fmt::format("no task has the id '{}'", excerpt(text)));
    }
    if (named->second == kAmbiguous) {
      id.fail(
          fmt::format("several tasks are called '{}', and none has it as its id", excerpt(text)));
    }
    return named->second;
  }

  void connect(OpId parent, OpId child, const JsonCursor& place) {
    if (parent == child) {
      place.fail("a task would wait for itself");
    }
    workflow_.connect(parent, child);
  }

  static constexpr OpId kAmbiguous = -1;

  std::string device_class_;
  Workflow workflow_;
  IdVector<OpId, JsonCursor> places_;
  std::unordered_map<std::string, std::int64_t> bytes_of_;
  std::unordered_map<std::string, OpId> op_of_;
  std::unordered_map<std::string, OpId> op_of_name_;
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  OpGraph graph = WfCommonsReader(root, params).build();
  graph[boost::graph_bundle] = {.name = root.at("name").text(), .source = "WfCommons"};
  return graph;
}

const FormatRegistration kRegistration(
    {.name = "wfcommons",
     .summary = "scientific workflows, WfFormat 1.0 to 1.5",
     .reference = "Coleman et al. 2022, arXiv 2105.14352; github.com/wfcommons/WfFormat",
     .read_parameters = {{.name = "device-class",
                          .default_value = "wfcommons",
                          .summary = "device class that the runtimes are of"}},
     .recognizes = [](const FileContent& file) { return file.has("workflow"); },
     .read = read});

}  // namespace
}  // namespace emplace::wfcommons_format
