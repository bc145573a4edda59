// Runs the benchmarks and prints, below Google Benchmark's table, how long each simulation took as
// a multiple of the two yardsticks of the same size in the same run: other figures do not carry
// over from one machine to another.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

class RatioReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration && !run.error_occurred) {
        seconds_[run.benchmark_name()].push_back(run.real_accumulated_time /
                                                 static_cast<double>(run.iterations));
      }
    }
  }

  void Finalize() override {
    ConsoleReporter::Finalize();
    for (const auto& [name, seconds] : seconds_) {
      if (!name.starts_with("BM_Simulate")) {
        continue;
      }
      const std::size_t begin = name.find("/ops:");
      const std::string ops = name.substr(begin, name.find('/', begin + 1) - begin);
      for (const char* yardstick : {"BM_LongestPath", "BM_HeapLoop"}) {
        if (const auto found = seconds_.find(yardstick + ops); found != seconds_.end()) {
          fmt::print("{} = {:.3g} x {}\n", name, median(seconds) / median(found->second),
                     found->first);
        }
      }
    }
  }

 private:
  static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }

  std::map<std::string, std::vector<double>> seconds_;  // by benchmark, one for each repetition
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
}
