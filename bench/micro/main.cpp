// Runs the benchmarks and prints, below Google Benchmark's table, how long each simulation took as
// a multiple of the yardstick of the same size in the same run: other figures do not carry
// over from one machine to another. Processor time counts, which other processes lengthen less.

#include <emplace/base/quantiles.hpp>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

// Reports in the format that was asked for; ratios go to standard error, apart from it.
class RatioReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override {
    reporter_->SetOutputStream(&GetOutputStream());
    reporter_->SetErrorStream(&GetErrorStream());
    return reporter_->ReportContext(context);
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    reporter_->ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration && !run.error_occurred) {
        seconds_[run.benchmark_name()].push_back(run.cpu_accumulated_time /
                                                 static_cast<double>(run.iterations));
      }
    }
  }

  void Finalize() override {
    reporter_->Finalize();
    for (const auto& [name, seconds] : seconds_) {
      if (!name.starts_with("BM_Simulate")) {
        continue;
      }
      const std::size_t begin = name.find("/ops:");
      const std::string ops = name.substr(begin, name.find('/', begin + 1) - begin);
      if (const auto found = seconds_.find("BM_LongestPath" + ops); found != seconds_.end()) {
        fmt::print(stderr, "{} = {:.3g} x {}\n", name,
                   emplace::upper_median(seconds) / emplace::upper_median(found->second),
                   found->first);
      }
    }
  }

 private:
  std::unique_ptr<benchmark::BenchmarkReporter> reporter_{
      benchmark::CreateDefaultDisplayReporter()};
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
