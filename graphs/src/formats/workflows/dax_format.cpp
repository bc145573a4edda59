// Scientific workflows of Pegasus as DAX 2 and 3, the XML that its workflow gallery and the
// generators of synthetic workflows write (Deelman et al. 2015), and that SimGrid reads.
//     <job id="ID01" name="mProject" runtime="13.6"><uses file="a.fits" link="output"
//     size="4222080"/></job> <child ref="ID02"><parent ref="ID01"/></child>
//
// Jobs become ops (workflow.hpp), seconds of `runtime` their measured cost, names their scopes. A
// child waits for its parents, and whoever reads a file for all jobs that write it. Sizes of files
// that only readers give count for the writers. A nested <dag> or <dax> is another file: refused.

#include "formats/xml_reader.hpp"
#include "workflow.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emplace::dax_format {
namespace {

constexpr double kMaxSeconds = 1e12;
constexpr double kMaxBytes = 9e18;
constexpr std::size_t kMaxTransfers = 1'000'000;  // of files that several jobs write

class DaxReader final : private XmlReader {
 public:
  DaxReader(std::string_view text, const std::string& source, const Params& params)
      : XmlReader(source), device_class_(params.get<std::string>("device-class")) {
    read(text);
    if (workflow_.num_tasks() == 0) {
      fail("expected at least one <job>");
    }
  }

  OpGraph finish() && {
    for (OpId task = 0; task < workflow_.num_tasks(); ++task) {
      for (const std::string& file : workflow_.files(task).inputs) {
        connect_writers(file, task);
      }
    }
    for (const auto& [parent, child] : dependencies_) {
      workflow_.connect(parent, child);
    }
    OpGraph& graph = workflow_.graph();
    graph[boost::graph_bundle] = {.name = name_, .source = "Pegasus DAX"};
    return graph;
  }

 private:
  void start(std::string_view name) override {
    if (depth_++ == 0) {
      if (name != "adag") {
        fail(fmt::format("expected <adag>, found <{}>", excerpt(name)));
      }
      name_ = attribute("name").value_or("");
    } else if (name == "job") {
      start_job();
    } else if (name == "dag" || name == "dax") {
      fail(fmt::format("<{}>, a workflow in another file, is not supported", name));
    } else if (name == "uses" && in_job_) {
      read_file();
    } else if (name == "child") {
      child_ = find(required_attribute("ref"));
    } else if (name == "parent") {
      const OpId parent = find(required_attribute("ref"));
      if (parent == child_) {
        fail("a job would wait for itself");
      }
      dependencies_.emplace(parent, child_);
    }
  }

  void end(std::string_view name) override {
    --depth_;
    if (name == "job") {
      in_job_ = false;
      for (const auto& [file, output] : files_.outputs) {
        writers_of_[file].push_back(workflow_.num_tasks());
      }
      workflow_.add(op_, std::move(files_));
    }
  }

  void start_job() {
    const std::string id = required_attribute("id");
    if (!op_of_.emplace(id, workflow_.num_tasks()).second) {
      fail(fmt::format("the job '{}' appears twice", excerpt(id)));
    }
    in_job_ = true;
    files_ = {};
    op_ = {.name = id, .kind = "task", .scope = attribute("name").value_or("")};
    const auto runtime = attribute("runtime");
    const double seconds = runtime ? number("runtime", *runtime, kMaxSeconds) : kUnknown;
    if (seconds >= 0) {
      op_.measured = {{.device_class = device_class_, .cost_us = seconds * 1e6}};
    }
  }

  void read_file() {
    const auto old_name = attribute("file");  // until version 3.0
    const std::string file = old_name ? *old_name : required_attribute("name");
    const std::string link = required_attribute("link");
    const auto size = attribute("size");
    const std::int64_t bytes =
        size ? std::max(0LL, std::llround(number("size", *size, kMaxBytes))) : 0;
    std::int64_t& known = bytes_of_[file];
    known = std::max(known, bytes);
    if (link == "input" || link == "inout") {
      files_.inputs.push_back(file);
    }
    if (link == "output" || link == "inout") {
      if (!add_output(op_, files_, file, bytes)) {
        fail(fmt::format("the job writes the file '{}' twice", excerpt(file)));
      }
    }
  }

  // The generators give -1 for what they do not know.
  static constexpr double kUnknown = -1;

  // Returns a number; it is negative where it is not known.
  double number(std::string_view name, const std::string& text, double max) const {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size() || !(value <= max)) {
      fail(fmt::format("expected {} to be a number of at most {}, found '{}'", name, max,
                       excerpt(text, 40)));
    }
    return std::max(value, kUnknown);
  }

  // Lets a job that reads a file wait for those that write it, but not for those that change it
  // afterwards.
  void connect_writers(const std::string& file, OpId reader) {
    const auto writers = writers_of_.find(file);
    if (writers == writers_of_.end()) {
      return;
    }
    num_transfers_ += writers->second.size() > 1 ? writers->second.size() : 0;
    if (num_transfers_ > kMaxTransfers) {
      fail(fmt::format("expected at most {} transfers of files that several jobs write",
                       kMaxTransfers));
    }
    for (const OpId writer : writers->second) {
      if (writer != reader && !dependencies_.contains({reader, writer})) {
        set_size(writer, file);
        workflow_.connect(writer, reader);
      }
    }
  }

  // Gives a file of unknown size the one that its readers know.
  void set_size(OpId writer, const std::string& file) {
    Op& op = workflow_.graph()[index_of(writer)];
    std::int64_t& bytes = op.outputs[index_of(workflow_.files(writer).outputs.at(file))].bytes;
    bytes = bytes > 0 ? bytes : bytes_of_.at(file);
  }

  OpId find(const std::string& id) const {
    const auto found = op_of_.find(id);
    if (found == op_of_.end()) {
      fail(fmt::format("no job above has the id '{}'", excerpt(id)));
    }
    return found->second;
  }

  std::string device_class_;
  std::string name_;
  Workflow workflow_;
  std::unordered_map<std::string, OpId> op_of_;                    // by id
  std::unordered_map<std::string, std::vector<OpId>> writers_of_;  // by file
  std::unordered_map<std::string, std::int64_t> bytes_of_;         // the largest that a job gives
  std::set<std::pair<OpId, OpId>> dependencies_;                   // parent, child
  std::size_t num_transfers_ = 0;
  std::size_t depth_ = 0;
  bool in_job_ = false;
  OpId child_ = 0;
  Op op_;                // the job that is being read
  WorkflowFiles files_;  // and its files
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  return DaxReader(text, source, params).finish();
}

const FormatRegistration kRegistration(
    {.name = "dax",
     .summary = "scientific workflows of Pegasus, DAX 2 and 3",
     .reference = "Deelman et al. 2015; pegasus.isi.edu/schema",
     .endings = {".dax"},
     .read_parameters = {{.name = "device-class",
                          .default_value = "dax",
                          .summary = "device class that the runtimes are of"}},
     .recognizes =
         [](const FileContent& file) {
           constexpr std::size_t kFarEnough = 4096;
           return file.bytes.substr(0, kFarEnough).find("<adag") != std::string_view::npos;
         },
     .read = read});

}  // namespace
}  // namespace emplace::dax_format
