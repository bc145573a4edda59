// How time and memory grow with the size of a problem. Runs each part of the way from a file to a
// placed and explained step on random problems of growing size, on one thread, and prints a table:
// seconds, peak of memory beyond what was held before, and the exponents e of size^e that fit both
// best. A part whose last run took long is not tried on larger problems.
//
//     emplace_scale --ops 10000,100000,1000000 --devices 4 [--links fair] [--only heft,etf]

#include "cpu_time.hpp"
#include "random_problem.hpp"

#include <emplace/agents/agent_spec.hpp>
#include <emplace/agents/evaluator.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/best_known.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/step_picture.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/explanation.hpp>
#include <emplace/sim/placement_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <getopt.h>
#include <malloc.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using emplace::DeviceId;
using emplace::OpId;
using emplace::Placement;
using emplace::Problem;
using emplace::micro::cpu_seconds;

// Holds one line of /proc/self/status in bytes: what is resident, or was at most.
double status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) {
      return std::stod(line.substr(name.size())) * 1024;
    }
  }
  return 0;
}

struct Cost {
  double seconds = 0;
  double bytes = 0;  // at most, beyond what was held before
};

Cost measure(const std::function<void()>& part) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak is the present from here on
  const double held = status_bytes("VmRSS:");
  const double begin_s = cpu_seconds();
  part();
  return {cpu_seconds() - begin_s, std::max(0.0, status_bytes("VmHWM:") - held)};
}

struct Options {
  std::vector<OpId> ops{10'000, 30'000, 100'000};
  std::vector<DeviceId> devices{4};
  std::string links = "none";
  std::uint64_t window = 100;
  std::vector<std::string> only{};
  double most_s = 60;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) {
    items.push_back(item);
  }
  return items;
}

template <typename Id>
std::vector<Id> numbers(const std::string& list) {
  std::vector<Id> numbers;
  for (const std::string& item : split(list)) {
    numbers.emplace_back(std::stoi(item));
  }
  return numbers;
}

// Returns nothing if an option is unknown or malformed.
std::optional<Options> read_options(int argc, char** argv) {
  const option known[] = {{"ops", required_argument, nullptr, 'o'},
                          {"devices", required_argument, nullptr, 'd'},
                          {"links", required_argument, nullptr, 'l'},
                          {"window", required_argument, nullptr, 'w'},
                          {"only", required_argument, nullptr, 'p'},
                          {"most", required_argument, nullptr, 'm'},
                          {}};
  Options options;
  try {
    for (int found = 0; (found = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
      switch (found) {
        case 'o':
          options.ops = numbers<OpId>(optarg);
          break;
        case 'd':
          options.devices = numbers<DeviceId>(optarg);
          break;
        case 'l':
          options.links = optarg;
          break;
        case 'w':
          options.window = std::stoul(optarg);
          break;
        case 'p':
          options.only = split(optarg);
          break;
        case 'm':
          options.most_s = std::stod(optarg);
          break;
        default:
          return std::nullopt;
      }
    }
  } catch (const std::logic_error&) {  // no number
    return std::nullopt;
  }
  const bool has_links =
      options.links == "none" || options.links == "fair" || options.links == "fifo";
  return optind == argc && has_links ? std::optional(options) : std::nullopt;
}

// Costs by part, one for each size.
class Table {
 public:
  explicit Table(const Options& options) : options_(options) {}

  void run(const std::string& part, double size, const std::function<void()>& function) {
    const bool is_wanted = options_.only.empty() || std::ranges::count(options_.only, part) > 0;
    if (!is_wanted || too_slow_.contains(part)) {
      return;
    }
    if (!costs_.contains(part)) {
      order_.push_back(part);
    }
    const Cost cost = measure(function);
    costs_[part].emplace_back(size, cost);
    if (cost.seconds > options_.most_s) {
      too_slow_[part] = true;
    }
    fmt::print(stderr, "{:>12.0f} {:<24} {:>9.3f} s {:>9.1f} MB\n", size, part, cost.seconds,
               cost.bytes / 1e6);
  }

  void print() const {
    fmt::print("| part | seconds | exponent | MB | exponent |\n|---|---|---|---|---|\n");
    for (const std::string& part : order_) {
      const auto& costs = costs_.at(part);
      std::string seconds;
      std::string megabytes;
      for (const auto& [size, cost] : costs) {
        seconds += fmt::format("{}{:.3g}", seconds.empty() ? "" : ", ", cost.seconds);
        megabytes += fmt::format("{}{:.3g}", megabytes.empty() ? "" : ", ", cost.bytes / 1e6);
      }
      fmt::print("| {} | {} | {} | {} | {} |\n", part, seconds,
                 exponent(
                     costs, [](const Cost& cost) { return cost.seconds; }, 1e-3),
                 megabytes,
                 exponent(
                     costs, [](const Cost& cost) { return cost.bytes; }, 1e6));
    }
  }

 private:
  using Costs = std::vector<std::pair<double, Cost>>;

  // Of the straight line through the logarithms that leaves the least squares; what is below
  // `least` is noise.
  template <class Of>
  static std::string exponent(const Costs& costs, Of of, double least) {
    std::vector<std::pair<double, double>> points;
    for (const auto& [size, cost] : costs) {
      if (of(cost) > least) {
        points.emplace_back(std::log(size), std::log(of(cost)));
      }
    }
    if (points.size() < 2) {
      return "";
    }
    double x = 0;
    double y = 0;
    for (const auto& [size, value] : points) {
      x += size / static_cast<double>(points.size());
      y += value / static_cast<double>(points.size());
    }
    double xy = 0;
    double xx = 0;
    for (const auto& [size, value] : points) {
      xy += (size - x) * (value - y);
      xx += (size - x) * (size - x);
    }
    return fmt::format("{:.2f}", xy / xx);
  }

  const Options& options_;
  std::vector<std::string> order_;
  std::map<std::string, Costs> costs_;
  std::map<std::string, bool> too_slow_;
};

Problem make_problem(const Options& options, OpId ops, DeviceId devices) {
  using emplace::LinkSharing;
  if (options.links == "none") {
    return emplace::micro::random_problem(ops, devices, options.window);
  }
  return emplace::micro::random_problem(
      ops, devices, options.links == "fair" ? LinkSharing::kFair : LinkSharing::kFifo,
      options.window);
}

void run_formats(Table& table, const Problem& problem, double size) {
  const emplace::GraphFormats& formats = emplace::GraphFormats::global();
  for (const std::string& name : formats.names()) {
    const emplace::GraphFormat& format = formats.find(name);
    if (!format.read || !format.write) {
      continue;
    }
    std::string file;
    try {
      table.run("write " + name, size, [&] { file = formats.write({name, {}}, problem.graph()); });
      if (!file.empty()) {
        table.run("read " + name, size, [&] { formats.read({name, {}}, file, "scale"); });
      }
    } catch (const emplace::Error& error) {
      fmt::print(stderr, "{}: {}\n", name, error.what());  // what the format cannot hold
    }
  }
}

void run_agents(Table& table, const Problem& problem, double size) {
  constexpr std::int64_t kEvaluations = 50;
  for (const char* agent : {"m-topo", "heft", "etf", "dls", "min-min", "multilevel", "auto", "post",
                            "learned-search", "placeto", "rnn-hdp", "rnn-colocrl"}) {
    try {
      table.run(agent, size, [&] {
        emplace::agents::Evaluator evaluator(
            problem, {.seed = 1, .budget = {.max_evaluations = kEvaluations}});
        emplace::agents::AgentSpec(agent).make(true)->place(problem, evaluator);
      });
    } catch (const emplace::Error& error) {
      fmt::print(stderr, "{}: {}\n", agent, error.what());  // too many groups for it
    }
  }
}

void run_step(Table& table, const Problem& problem, double size) {
  const Placement placement = emplace::micro::random_placement(problem, 1);
  std::optional<emplace::Simulator> simulator;
  table.run("first simulation", size, [&] {
    simulator.emplace(problem);
    simulator->run(placement);
  });
  if (simulator) {
    table.run("next simulation", size, [&] { simulator->run(placement); });
  }
  const emplace::StepRecord record = emplace::Simulator(problem).record(placement);
  std::size_t bytes = 0;
  table.run("lower bounds", size, [&] { emplace::lower_bounds(problem); });
  table.run("record", size, [&] { emplace::Simulator(problem).record(placement); });
  table.run("explain", size, [&] { emplace::explain(problem, record); });
  table.run("placement file", size, [&] { emplace::write_placement_json(problem, placement); });
  table.run("trace", size, [&] { bytes = emplace::write_chrome_trace(problem, record).size(); });
  fmt::print(stderr, "{:>12} {:.1f} MB\n", "", static_cast<double>(bytes) / 1e6);
  table.run("picture", size,
            [&] { bytes = emplace::bench::draw_step(problem, record, "").size(); });
  fmt::print(stderr, "{:>12} {:.1f} MB\n", "", static_cast<double>(bytes) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> given = read_options(argc, argv);
  if (!given) {
    fmt::print(stderr,
               "usage: emplace_scale [--ops N,...] [--devices N,...] [--links none|fair|fifo] "
               "[--window N] [--only PART,...] [--most SECONDS]\n");
    return 2;
  }
  const Options& options = *given;
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  Table table(options);
  for (const DeviceId devices : options.devices) {
    for (const OpId ops : options.ops) {
      const double size = options.devices.size() > 1 ? devices : ops;
      std::optional<Problem> made = make_problem(options, ops, devices);
      auto graph = std::make_shared<const emplace::OpGraph>(made->graph());
      auto cluster = std::make_shared<const emplace::Cluster>(made->cluster());
      made.reset();
      table.run("group", size,
                [&] { emplace::bench::group_graph(*graph, 0, emplace::bench::kFinestGrouping); });
      emplace::Grouping grouping = emplace::ungrouped(*graph);
      table.run("problem", size, [&] { made.emplace(graph, grouping, cluster); });
      const Problem problem = made ? std::move(*made) : Problem(graph, grouping, cluster);
      run_formats(table, problem, size);
      run_step(table, problem, size);
      run_agents(table, problem, size);
    }
  }
  table.print();
}
