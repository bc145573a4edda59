#include "support/errors.hpp"

#include <emplace/bench/case_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emplace::bench::case_file_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string case_with(const std::string& nodes, const std::string& edges = "",
                      const std::string& placements = "[0,0]", const std::string& devices = "2") {
  return R"({"name":"c","devices":)" + devices + R"(,"nodes":[)" + nodes + R"(],"edges":[)" +
         edges + R"(],"placements":[)" + placements + "]}";
}

const char* const kTwoNodes =
    R"({"id":7,"cost_us":1,"outputs":[8]},{"id":123,"cost_us":1,"outputs":[8]})";

TEST(CaseFile, NodesWithoutNamesAreCalledByTheirPaddedIds) {
  const SimulationCase two = read_case(case_with(kTwoNodes), "f:1");
  EXPECT_EQ(two.problem.graph()[0].name, "n007");
  EXPECT_EQ(two.problem.graph()[1].name, "n123");
}

TEST(CaseFile, EdgesNameIdsNotPositions) {
  const SimulationCase two = read_case(case_with(kTwoNodes, "[123,0,7]"), "f:1");
  ASSERT_EQ(two.problem.children(1).size(), 1U);
  EXPECT_EQ(two.problem.children(1)[0].op, 0);
}

TEST(CaseFile, AnOutputBeyondThoseListedHasNoBytes) {
  const SimulationCase two = read_case(case_with(kTwoNodes, "[7,3,123]"), "f:1");
  EXPECT_EQ(two.problem.output_bytes(two.problem.children(0)[0].output), 0);
}

TEST(CaseFile, AResultIsOneLine) {
  const SimulationCase two = read_case(case_with(kTwoNodes, "[7,0,123]", "[0,0],[0,1]"), "f:1");
  Simulator simulator(two.problem);
  EXPECT_EQ(write_case_result(two, 0, simulator.record(two.placements[0])),
            R"({"name":"c","placement":0,"makespan_us":13.4,"peak_mem":[8,0],)"
            R"("times":[[0,1],[6.7,7.7]]})"
            "\n");
}

struct BadCase {
  const char* what;
  std::string line;
  const char* message;
};

void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.what; }

class BadCases : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadCases, IsRefusedWithFileAndPlace) {
  EXPECT_THAT(
      test::error_of(ErrorCode::kFormat, [&] { read_case(GetParam().line, "cases.jsonl:3"); }),
      testing::AllOf(StartsWith("cases.jsonl:3: "), HasSubstr(GetParam().message)));
}

const BadCase kBadCases[] = {
    {"truncated", case_with(kTwoNodes).substr(0, 60), ""},
    {"not_an_object", "[]", "object"},
    {"no_nodes", case_with("", "", "[]"), ""},
    {"missing_member",
     R"({"name":"c","devices":1,"nodes":[{"id":0,"cost_us":1,"outputs":[]}],"edges":[]})",
     "placements"},
    {"unknown_member", R"({"name":"c","device":1})", "device"},
    {"no_devices", case_with(kTwoNodes, "", "[0,0]", "0"), "/devices"},
    {"too_many_devices", case_with(kTwoNodes, "", "[0,0]", "100000000000"), "/devices"},
    {"negative_cost", case_with(R"({"id":0,"cost_us":-1,"outputs":[]})", "", "[0]"),
     "/nodes/0/cost_us"},
    {"gigantic_cost", case_with(R"({"id":0,"cost_us":1e300,"outputs":[]})", "", "[0]"),
     "/nodes/0/cost_us"},
    {"not_a_number", case_with(R"({"id":0,"cost_us":NaN,"outputs":[]})", "", "[0]"), ""},
    {"cost_as_text", case_with(R"({"id":0,"cost_us":"1","outputs":[]})", "", "[0]"),
     "/nodes/0/cost_us"},
    {"negative_bytes", case_with(R"({"id":0,"cost_us":1,"outputs":[-8]})", "", "[0]"),
     "/nodes/0/outputs/0"},
    {"gigantic_bytes",
     case_with(R"({"id":0,"cost_us":1,"outputs":[9223372036854775807]})", "", "[0]"),
     "/nodes/0/outputs/0"},
    {"bytes_that_overflow_together",
     case_with(R"({"id":0,"cost_us":1,"outputs":[9007199254740992,9007199254740992]})", "", "[0]"),
     ""},
    {"duplicate_id",
     case_with(R"({"id":1,"cost_us":1,"outputs":[]},{"id":1,"cost_us":1,"outputs":[]})"),
     "/nodes/1/id"},
    {"duplicate_name", case_with(R"({"id":0,"cost_us":1,"outputs":[],"name":"n1"},
                             {"id":1,"cost_us":1,"outputs":[]})"),
     "n1"},
    {"dangling_edge", case_with(kTwoNodes, "[7,0,8]"), "/edges/0/2"},
    {"short_edge", case_with(kTwoNodes, "[7,123]"), "/edges/0"},
    {"output_below_control", case_with(kTwoNodes, "[7,-2,123]"), "/edges/0/1"},
    {"gigantic_output", case_with(kTwoNodes, "[7,2000000000,123]"), "/edges/0/1"},
    {"outputs_without_end", case_with(kTwoNodes, "[7,900000,123],[123,900000,7]"), "/edges/1/1"},
    {"cycle", case_with(kTwoNodes, "[7,0,123],[123,0,7]"), "n007"},
    {"self_loop", case_with(kTwoNodes, "[7,0,7]"), "n007"},
    {"device_out_of_range", case_with(kTwoNodes, "", "[0,2]"), "/placements/0/1"},
    {"short_placement", case_with(kTwoNodes, "", "[0]"), "/placements/0"},
    {"not_utf8", case_with("{\"id\":0,\"cost_us\":1,\"outputs\":[],\"name\":\"\xff\"}"), ""},
};

INSTANTIATE_TEST_SUITE_P(All, BadCases, ::testing::ValuesIn(kBadCases),
                         [](const auto& bad) { return std::string(bad.param.what); });

// Two devices, a link each way.
const std::string kLinks = R"([{"bandwidth_bytes_per_us":10,"latency_us":1},)"
                           R"({"bandwidth_bytes_per_us":20,"latency_us":0,"sharing":"fifo"}])";
const std::string kRoutes = R"([{"src":0,"dst":1,"links":[0]},{"src":1,"dst":0,"links":[1]}])";

std::string physical_case(const std::string& links, const std::string& routes) {
  return R"({"name":"c","devices":2,"nodes":[{"id":0,"cost_us":5,"outputs":[100]},)"
         R"({"id":1,"cost_us":5,"outputs":[]}],"edges":[[0,0,1]],"placements":[[0,1]],"links":)" +
         links + R"(,"routes":)" + routes + "}";
}

TEST(CaseFile, LinksAndRoutesMakeACaseOfThePhysicalModel) {
  const SimulationCase read = read_case(physical_case(kLinks, kRoutes), "f:1");
  EXPECT_EQ(read.problem.cluster().transfer_model, TransferModel::kPhysical);
  EXPECT_EQ(read.problem.topology().links()[1].sharing, LinkSharing::kFifo);
  // 5 us, then 1 us of latency and 100 bytes at 10 bytes/us, then 5 us.
  EXPECT_EQ(write_case_result(read, 0, Simulator(read.problem).record(read.placements[0])),
            R"({"name":"c","placement":0,"makespan_us":21,"peak_mem":[100,100],)"
            R"("times":[[0,5],[16,21]],"transfers":[[0,1,5,16]]})"
            "\n");
}

class BadTopology : public testing::TestWithParam<
                        std::tuple<const char*, std::string, std::string, const char*>> {};

TEST_P(BadTopology, IsRefusedWithItsPlace) {
  const auto& [name, links, routes, place] = GetParam();
  const std::string line = physical_case(links, routes);
  EXPECT_THAT(test::error_of(ErrorCode::kFormat, [&] { read_case(line, "f:1"); }),
              testing::AllOf(testing::HasSubstr("f:1"), testing::HasSubstr(place)));
}

std::string link(const std::string& bandwidth, const std::string& latency,
                 const std::string& rest = "") {
  return R"([{"bandwidth_bytes_per_us":)" + bandwidth + R"(,"latency_us":)" + latency + rest + "}]";
}

std::string both_over(const std::string& links) {
  return R"([{"src":0,"dst":1,"links":)" + links + R"(},{"src":1,"dst":0,"links":[0]}])";
}

INSTANTIATE_TEST_SUITE_P(
    , BadTopology,
    testing::Values(
        std::tuple("no_bandwidth", link("0", "1"), both_over("[0]"), "/links/0/bandwidth"),
        std::tuple("negative_bandwidth", link("-1", "1"), both_over("[0]"), "/links/0/bandwidth"),
        std::tuple("infinite_bandwidth", link("1e999", "1"), both_over("[0]"), ""),
        std::tuple("nan_latency", link("1", "NaN"), both_over("[0]"), ""),
        std::tuple("negative_latency", link("1", "-1"), both_over("[0]"), "/links/0/latency_us"),
        std::tuple("unknown_sharing", link("1", "1", R"(,"sharing":"fiar")"), both_over("[0]"),
                   "/links/0/sharing"),
        std::tuple("unknown_field", link("1", "1", R"(,"speed":1)"), both_over("[0]"), "/links/0"),
        std::tuple("unknown_link", link("1", "1"), both_over("[1]"), "/routes/0/links/0"),
        std::tuple("link_twice", link("1", "1"), both_over("[0,0]"), "/routes/0/links/1"),
        std::tuple("empty_route", link("1", "1"), both_over("[]"), "/routes/0/links"),
        std::tuple("to_itself", link("1", "1"), R"([{"src":1,"dst":1,"links":[0]}])", "/routes/0"),
        std::tuple("route_twice", link("1", "1"),
                   R"([{"src":0,"dst":1,"links":[0]},{"src":0,"dst":1,"links":[0]}])", "/routes/1"),
        std::tuple("no_way_back", link("1", "1"), R"([{"src":0,"dst":1,"links":[0]}])", "/routes"),
        std::tuple("no_device", link("1", "1"), R"([{"src":0,"dst":2,"links":[0]}])",
                   "/routes/0/dst")),
    [](const auto& bad) { return std::string(std::get<0>(bad.param)); });

}  // namespace
}  // namespace emplace::bench::case_file_test
