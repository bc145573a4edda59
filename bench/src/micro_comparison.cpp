#include <emplace/bench/micro_comparison.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>
#include <emplace/graphs/quantiles.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace emplace::bench {
namespace {

// Beyond what any benchmark takes, in any unit; ratios of these are numbers.
constexpr double kLeastTime = 1e-15;
constexpr double kMostTime = 1e15;
constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
constexpr std::array<double, 4> kUnitNs = {1, 1e3, 1e6, 1e9};

// A fact as text, whatever it is.
std::string text_of(const JsonCursor& fact) {
  return fact.is_text()      ? fact.text()
         : fact.is_integer() ? fmt::format("{}", fact.integer(0, std::int64_t{1} << 53))
                             : (fact.boolean() ? "yes" : "no");
}

std::vector<std::pair<std::string, std::string>> read_machine(const JsonCursor& context) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kFacts = {
      {{"host_name", "machine"},
       {"num_cpus", "processors"},
       {"mhz_per_cpu", "MHz"},
       {"cpu_scaling_enabled", "frequency scaling"},
       {"library_build_type", "build of Google Benchmark"}}};
  std::vector<std::pair<std::string, std::string>> machine;
  for (const auto& [key, name] : kFacts) {
    if (const auto fact = context.find(key)) {
      machine.emplace_back(name, text_of(*fact));
    }
  }
  return machine;
}

double read_time_ns(const JsonCursor& run, std::string_view name) {
  const bool by_clock = name.ends_with("/real_time") || name.ends_with("/manual_time");
  const JsonCursor time = run.at(by_clock ? "real_time" : "cpu_time");
  return time.number(kLeastTime, kMostTime) * kUnitNs[run.at("time_unit").one_of(kUnits)];
}

const MicroBenchmark* find(const MicroRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.benchmarks, name, &MicroBenchmark::name);
  return found == run.benchmarks.end() || found->times_ns.empty() ? nullptr : &*found;
}

// By which the times of a file are divided.
double divisor_of(const MicroRun& run, const std::string& yardstick) {
  if (yardstick.empty()) {
    return 1;
  }
  if (const MicroBenchmark* benchmark = find(run, yardstick)) {
    return median(benchmark->times_ns);
  }
  std::vector<std::string> names;
  names.reserve(run.benchmarks.size());
  for (const MicroBenchmark& benchmark : run.benchmarks) {
    names.push_back(benchmark.name);
  }
  throw_unknown_name("benchmark", yardstick, names);
}

std::vector<double> divided(std::vector<double> times, double divisor) {
  for (double& time : times) {
    time /= divisor;
  }
  return times;
}

std::string fact_of(const MicroRun& run, const std::string& name) {
  const auto found =
      std::ranges::find(run.machine, name, &std::pair<std::string, std::string>::first);
  return found == run.machine.end() ? "-" : found->second;
}

std::vector<InputDifference> differences_of(const MicroRun& a, const MicroRun& b) {
  std::vector<InputDifference> differences;
  for (const MicroRun* run : {&a, &b}) {
    for (const auto& [name, fact] : run->machine) {
      const bool known =
          std::ranges::find(differences, name, &InputDifference::what) != differences.end();
      if (!known && fact_of(a, name) != fact_of(b, name)) {
        differences.push_back({name, fact_of(a, name), fact_of(b, name)});
      }
    }
  }
  return differences;
}

std::vector<std::string> missing_from(const MicroRun& other, const MicroRun& run) {
  std::vector<std::string> names;
  for (const MicroBenchmark& benchmark : run.benchmarks) {
    if (!benchmark.times_ns.empty() && find(other, benchmark.name) == nullptr) {
      names.push_back(benchmark.name);
    }
  }
  return names;
}

}  // namespace

MicroRun read_micro_run(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor json = document.root();
  MicroRun run{.machine = read_machine(json.at("context"))};
  const JsonCursor entries = json.at("benchmarks");
  bool any_time = false;
  for (const JsonCursor& entry : entries.elements()) {
    const auto type = entry.find("run_type");
    if (type && type->text() == "aggregate") {
      continue;
    }
    const auto run_name = entry.find("run_name");
    const std::string name = (run_name ? *run_name : entry.at("name")).non_empty_text();
    auto found = std::ranges::find(run.benchmarks, name, &MicroBenchmark::name);
    if (found == run.benchmarks.end()) {
      run.benchmarks.push_back({.name = name});
      found = run.benchmarks.end() - 1;
    }
    const auto failed = entry.find("error_occurred");
    if (failed && failed->boolean()) {
      ++found->failed;
    } else {
      found->times_ns.push_back(read_time_ns(entry, name));
      any_time = true;
    }
  }
  if (!any_time) {
    entries.fail("expected times of repetitions, found none (aggregates alone cannot be compared)");
  }
  return run;
}

std::int64_t MicroComparison::count(Verdict verdict) const {
  return std::ranges::count_if(
      rows, [&](const MicroRow& row) { return row.significance.verdict() == verdict; });
}

MicroComparison compare_micro(const MicroRun& a, const MicroRun& b, double threshold,
                              const std::string& yardstick) {
  MicroComparison comparison{.threshold = threshold,
                             .yardstick = yardstick,
                             .differences = differences_of(a, b),
                             .only_a = missing_from(b, a),
                             .only_b = missing_from(a, b)};
  const double divisor_a = divisor_of(a, yardstick);
  const double divisor_b = divisor_of(b, yardstick);
  for (const MicroBenchmark& benchmark : a.benchmarks) {
    const MicroBenchmark* const other = find(b, benchmark.name);
    // A yardstick is 1 in both.
    if (benchmark.times_ns.empty() || other == nullptr || benchmark.name == yardstick) {
      continue;
    }
    const std::vector<double> times_a = divided(benchmark.times_ns, divisor_a);
    const std::vector<double> times_b = divided(other->times_ns, divisor_b);
    comparison.rows.push_back({.name = benchmark.name,
                               .repetitions_a = static_cast<std::int64_t>(times_a.size()),
                               .repetitions_b = static_cast<std::int64_t>(times_b.size()),
                               .a = median(times_a),
                               .b = median(times_b),
                               .ratio = ratio_of_samples(times_b, times_a),
                               .significance = test_samples(times_a, times_b, threshold)});
  }
  if (comparison.rows.empty()) {
    throw Error(ErrorCode::kFormat, "the two files have no benchmark in common");
  }
  std::vector<Significance*> tests;
  tests.reserve(comparison.rows.size());
  for (MicroRow& row : comparison.rows) {
    tests.push_back(&row.significance);
  }
  correct(tests);
  return comparison;
}

}  // namespace emplace::bench
