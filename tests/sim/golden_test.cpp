// Does the `placeto` engine agree with the simulator that was released with the paper, bit for bit?
// Does the `physical` engine agree with a program on SimGrid 3.32 with max-min fair links?

#include "tests/support/source_path.hpp"

#include <emplace/bench/case_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace emplace::golden_test {
namespace {

using bench::read_case;
using bench::SimulationCase;
using bench::write_case_result;

std::vector<std::string> read_lines(const std::string& name) {
  const std::string command = "gzip -dc '" + test::source_path("tests/golden/" + name) + "'";
  FILE* const pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string text;
  std::array<char, 65536> buffer{};
  for (std::size_t count = 0; (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), count);
  }
  EXPECT_EQ(pclose(pipe), 0) << name;
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(Golden, PlacetoEngineEqualsTheReleasedSimulator) {
  std::map<std::pair<std::string, std::size_t>, nlohmann::json> expected;
  for (const std::string& line : read_lines("placeto_expected.jsonl.gz")) {
    const nlohmann::json result = nlohmann::json::parse(line);
    expected[{result["name"], result["placement"]}] = result;
  }
  std::size_t compared = 0;
  for (const std::string& line : read_lines("placeto_cases.jsonl.gz")) {
    const SimulationCase golden = read_case(line, "placeto_cases");
    Simulator simulator(golden.problem);
    for (std::size_t placement = 0; placement < golden.placements.size(); ++placement) {
      SCOPED_TRACE(golden.name + " placement " + std::to_string(placement));
      const nlohmann::json& answer = expected.at({golden.name, placement});
      const SimResult& result = simulator.run(golden.placements[placement]);
      EXPECT_EQ(result.makespan_us, answer["makespan_us"].get<double>());
      ASSERT_EQ(result.start_us.size(), answer["times"].size());
      for (std::size_t op = 0; op < result.start_us.size(); ++op) {
        EXPECT_EQ(result.start_us[op], answer["times"][op][0].get<double>()) << "op " << op;
        EXPECT_EQ(result.end_us[op], answer["times"][op][1].get<double>()) << "op " << op;
      }
      const std::vector<std::int64_t> peaks(result.peak_bytes.begin(), result.peak_bytes.end());
      EXPECT_EQ(peaks, answer["peak_mem"].get<std::vector<std::int64_t>>());
      ++compared;
    }
  }
  EXPECT_EQ(compared, 180u);
}

void expect_near(double actual, double expected) {
  EXPECT_NEAR(actual, expected, 1e-6 * std::max(1.0, expected));
}

TEST(Golden, PhysicalEngineEqualsSimGrid) {
  std::map<std::string, nlohmann::json> expected;
  for (const std::string& line : read_lines("physical_expected.jsonl.gz")) {
    const nlohmann::json result = nlohmann::json::parse(line);
    expected[result["name"]] = result;
  }
  std::size_t compared_transfers = 0;
  for (const std::string& line : read_lines("physical_cases.jsonl.gz")) {
    const SimulationCase golden = read_case(line, "physical_cases");
    SCOPED_TRACE(golden.name);
    const nlohmann::json& answer = expected.at(golden.name);
    Simulator simulator(golden.problem);
    ASSERT_EQ(golden.placements.size(), 1u);
    const nlohmann::json result =
        nlohmann::json::parse(write_case_result(golden, 0, simulator.record(golden.placements[0])));
    expect_near(result["makespan_us"], answer["makespan_us"]);
    ASSERT_EQ(result["times"].size(), answer["times"].size());
    for (std::size_t op = 0; op < result["times"].size(); ++op) {
      SCOPED_TRACE("op " + std::to_string(op));
      expect_near(result["times"][op][0], answer["times"][op][0]);
      expect_near(result["times"][op][1], answer["times"][op][1]);
    }
    ASSERT_EQ(result["transfers"].size(), answer["transfers"].size());
    for (std::size_t at = 0; at < result["transfers"].size(); ++at) {
      SCOPED_TRACE("transfer " + std::to_string(at));
      EXPECT_EQ(result["transfers"][at][0], answer["transfers"][at][0]);
      EXPECT_EQ(result["transfers"][at][1], answer["transfers"][at][1]);
      expect_near(result["transfers"][at][2], answer["transfers"][at][2]);
      expect_near(result["transfers"][at][3], answer["transfers"][at][3]);
      ++compared_transfers;
    }
  }
  EXPECT_EQ(compared_transfers, 4082u);
}

}  // namespace
}  // namespace emplace::golden_test
