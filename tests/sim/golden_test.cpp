// Does the `placeto` engine agree with the simulator that was released with the paper, bit for bit?

#include <emplace/sim/case_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace emplace {
namespace {

std::vector<std::string> read_lines(const std::string& name) {
  const std::string command = "gzip -dc '" EMPLACE_SOURCE_DIR "/tests/golden/" + name + "'";
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

}  // namespace
}  // namespace emplace
