// The Standard Task Graph set (Tobita, Kasahara 2002): the number of tasks, then for each task its
// number, processing time, number of predecessors and the predecessors, all whole numbers:
//     2
//     0  0  0
//     1  5  1  0
//     2  3  1  1
//     3  0  1  2
//     # remarks
// A task becomes an op, a precedence a control edge; there is no communication. The first and the
// last task, which take no time and are not counted, only mark the beginning and the end and are
// left out.

#include "formats/text_cursor.hpp"

#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::stg_format {
namespace {

constexpr std::int64_t kMostTasks = 10'000'000;
constexpr std::int64_t kLongestTime = 1'000'000'000'000;

class StgReader {
 public:
  StgReader(std::string_view text, const std::string& source) : cursor_(text, source) {}

  OpGraph read(const std::string& device_class, double us_per_unit) {
    const std::int64_t num_tasks = number("the number of tasks", 1, kMostTasks);
    OpGraph graph;
    std::vector<std::pair<OpId, OpId>> precedences;
    for (std::int64_t task = 0; task <= num_tasks + 1; ++task) {
      number("the number of the task", task, task);
      const bool is_dummy = task == 0 || task == num_tasks + 1;
      const std::int64_t time = number("a processing time", 0, is_dummy ? 0 : kLongestTime);
      if (!is_dummy) {
        Op op{.name = fmt::format("task_{}", task), .kind = "task"};
        op.measured = {{device_class, static_cast<double>(time) * us_per_unit}};
        boost::add_vertex(op, graph);
      }
      for (std::int64_t left = number("the number of predecessors", 0, num_tasks + 1); left > 0;
           --left) {
        const std::int64_t before = number("a predecessor", 0, num_tasks + 1);
        if (!is_dummy && before > 0 && before <= num_tasks) {
          precedences.emplace_back(static_cast<OpId>(before - 1), static_cast<OpId>(task - 1));
        }
      }
    }
    skip();
    if (!cursor_.at_end()) {
      cursor_.fail_expected("a remark after the last task");
    }
    std::ranges::sort(precedences);
    precedences.erase(std::unique(precedences.begin(), precedences.end()), precedences.end());
    for (const auto& [before, after] : precedences) {
      add_dependency(graph, before, Dependency::kControl, after);
    }
    return graph;
  }

 private:
  // Skips blanks, and remarks to the ends of their lines.
  void skip() {
    cursor_.skip_blanks();
    while (cursor_.peek() == '#') {
      cursor_.take(std::min(cursor_.rest().find('\n'), cursor_.rest().size()));
      cursor_.skip_blanks();
    }
  }

  std::int64_t number(std::string_view what, std::int64_t min, std::int64_t max) {
    skip();
    const std::string_view rest = cursor_.rest();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    const auto length = static_cast<std::size_t>(end - rest.data());
    const bool ends = length == rest.size() ||
                      std::string_view(" \t\r\n").find(rest[length]) != std::string_view::npos;
    if (error != std::errc{} || !ends || value < min || value > max) {
      cursor_.fail_expected(min == max ? fmt::format("{}, {}", what, min)
                                       : fmt::format("{}, from {} to {}", what, min, max));
    }
    cursor_.take(length);
    return value;
  }

  TextCursor cursor_;
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  return StgReader(text, source)
      .read(params.get<std::string>("device-class"), params.get<double>("us-per-unit"));
}

const FormatRegistration kRegistration(
    {.name = "stg",
     .summary = "Standard Task Graphs: tasks with times and precedences, no communication",
     .reference = "Tobita, Kasahara, Journal of Scheduling 5(5), 2002; "
                  "www.kasahara.cs.waseda.ac.jp/schedule",
     .endings = {".stg"},
     .read_parameters = {{.name = "device-class",
                          .default_value = "stg",
                          .summary = "device class that the times are of"},
                         {.name = "us-per-unit",
                          .default_value = 1.0,
                          .min = 1e-6,
                          .max = 1e6,
                          .summary = "microseconds for each unit of processing time"}},
     .read = read});

}  // namespace
}  // namespace emplace::stg_format
