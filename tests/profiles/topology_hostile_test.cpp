#include "profiles/profile_texts.hpp"

#include <emplace/base/error.hpp>
#include <emplace/profiles/cluster.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::topology_hostile_test {
namespace {

class HostileTopology : public ::testing::TestWithParam<HostileText> {};

TEST_P(HostileTopology, IsRefusedWithFileAndPlace) {
  const std::string error =
      test::error_of(ErrorCode::kFormat, [&] { read_cluster(GetParam().text, "bad.json"); });
  EXPECT_THAT(error, ::testing::StartsWith("bad.json:"));
  EXPECT_THAT(error, ::testing::HasSubstr(GetParam().says));
  EXPECT_LT(error.size(), 500U);
}

// A valid file, to be spoilt in one place.
const std::string kGood = physical_cluster(R"(
    {"name": "gpu:0", "profile": "k80", "copy_out": "engine"},
    {"name": "gpu:1", "profile": "k80"})",
                                           R"("queue_order": "fifo", "links": [
    {"name": "left", "between": ["gpu:0", "plx"], "bandwidth_bytes_per_us": 1000, "latency_us": 7},
    {"name": "right", "between": ["plx", "gpu:1"], "bandwidth_bytes_per_us": 2000, "latency_us": 8,
     "duplex": "half"},
    {"name": "engine", "bandwidth_bytes_per_us": 3000, "latency_us": 9, "sharing": "fair"}],
    "routes": [{"from": "gpu:0", "to": "gpu:1", "links": ["left", "right"], "both": false}])");

// Links 0 and 1 are the two directions of "left".
TEST(GoodTopology, IsSpoiltFromAGoodOne) {
  const Topology topology = read_cluster(kGood, "good.json").topology;
  EXPECT_THAT(topology.route(0, 1), ::testing::ElementsAre(3, 0, 2));
  EXPECT_THAT(topology.route(1, 0), ::testing::ElementsAre(2, 1));
}

std::string good_with(std::string_view from, std::string_view to) { return with(kGood, from, to); }

std::string many_links(int count) {
  std::string links = "\"links\": [";
  for (int link = 0; link < count; ++link) {
    links += (link > 0 ? "," : "") + std::string(R"({"name": ")") + std::to_string(link) +
             R"(", "bandwidth_bytes_per_us": 1, "latency_us": 0})";
  }
  return physical_cluster(kTwoGpus, links + "]");
}

// A chain of `count` links over count - 1 switches.
std::string long_chain(int count) {
  std::string links = "\"links\": [";
  const auto place = [&](int at) {
    return at == 0 ? std::string("gpu:0") : at == count ? "gpu:1" : std::to_string(at);
  };
  for (int link = 0; link < count; ++link) {
    links += (link > 0 ? "," : "") + std::string(R"({"name": "link )") + std::to_string(link) +
             R"(", "between": [")" + place(link) + R"(", ")" + place(link + 1) +
             R"("], "bandwidth_bytes_per_us": 1e-3, "latency_us": 1e9})";
  }
  return physical_cluster(kTwoGpus, links + "]");
}

TEST(LargeTopology, RouteHasUpTo64Links) {
  EXPECT_EQ(read_cluster(long_chain(64), "long.json").topology.route(0, 1).size(), 64U);
}

const HostileText kHostileTopologies[] = {
    {"WithoutConstants", good_with("\"physical\": {", "\"phys\": {"), "/phys: the member is not"},
    {"ConstantsAreMissing", with(kClusterText, "\"placeto\",", "\"physical\","),
     "/placeto: the transfer model is 'physical': expected its member 'physical' instead"},
    {"ConstantsOfAnotherModelToo",
     good_with("\"physical\": {", R"("grappler": {"latency_us": 1, "bytes_per_us": 1},
               "physical": {)"),
     "/grappler: the transfer model is 'physical'"},
    {"UnknownModel", good_with("\"physical\",", "\"quantum\","),
     "/transfer_model: expected 'placeto' or 'physical' or 'grappler', found the text 'quantum'"},
    {"PhysicalIsANumber",
     with(physical_cluster(kTwoGpus, ""), "\"physical\": {}", "\"physical\": 7"),
     "/physical: expected an object, found the number 7"},
    {"UnknownQueueOrder", good_with("\"fifo\"", "\"lifo\""),
     "/physical/queue_order: expected 'fifo' or 'critical-path'"},
    {"LinksAreMissing", physical_cluster(kTwoGpus, ""), "/physical: the member 'links' is missing"},
    {"NoLinks", physical_cluster(kTwoGpus, "\"links\": []"),
     "/physical: no links lead from 'gpu:1' to 'gpu:0'"},
    {"LinksAreAnObject", physical_cluster(kTwoGpus, "\"links\": {}"), "/physical/links"},
    {"LinkIsEmpty", physical_cluster(kTwoGpus, "\"links\": [{}]"),
     "/physical/links/0: the member 'name' is missing"},
    {"TooManyLinks", many_links(16385), "/physical/links: expected at most 16384 links"},
    {"UnknownMemberOfALink", good_with("\"duplex\"", "\"duplx\""),
     "/physical/links/1/duplx: the member is not known; did you mean 'duplex'?"},
    {"LinkWithoutAName", good_with("\"left\"", "\"\""), "/physical/links/0/name"},
    {"EndlessName", good_with("\"left\"", '"' + std::string(10'000, 'x') + '"'),
     "/physical/links/0/name: expected a name of at most 100 bytes, found 10000"},
    {"EndlessNameOfADevice",
     good_with("\"name\": \"gpu:1\"", "\"name\": \"" + std::string(101, 'x') + '"'),
     "/devices/1/name: expected a name of at most 100 bytes"},
    {"LinkTwice", good_with("\"name\": \"engine\"", "\"name\": \"left\""),
     "/physical/links/2/name: another link is called 'left'"},
    {"LinkCalledAsADirection", good_with("\"name\": \"engine\"", "\"name\": \"left plx>gpu:0\""),
     "/physical/links/2/name: another link is called 'left plx>gpu:0'"},
    {"NoBandwidth", good_with("1000", "0"), "/physical/links/0/bandwidth_bytes_per_us"},
    {"NegativeBandwidth", good_with("1000", "-1000"), "/physical/links/0/bandwidth_bytes_per_us"},
    {"InfiniteBandwidth", good_with("1000", "1e999"), "/physical/links/0/bandwidth_bytes_per_us"},
    {"NotANumberBandwidth", good_with("1000", "NaN"), "/physical/links/0/bandwidth_bytes_per_us"},
    {"GiganticBandwidth", good_with("1000", "1e300"), "/physical/links/0/bandwidth_bytes_per_us"},
    {"BandwidthIsMissing", good_with("\"bandwidth_bytes_per_us\": 3000, ", ""),
     "/physical/links/2: the member 'bandwidth_bytes_per_us' is missing"},
    {"NegativeLatency", good_with("\"latency_us\": 9", "\"latency_us\": -9"),
     "/physical/links/2/latency_us"},
    {"InfiniteLatency", good_with("\"latency_us\": 9", "\"latency_us\": 1e999"),
     "/physical/links/2/latency_us"},
    {"LatencyIsAText", good_with("\"latency_us\": 9", "\"latency_us\": \"low\""),
     "/physical/links/2/latency_us"},
    {"UnknownSharing", good_with("\"fair\"", "\"unfair\""),
     "/physical/links/2/sharing: expected 'fair' or 'fifo' or 'fatpipe'"},
    {"UnknownDuplex", good_with("\"half\"", "\"triple\""),
     "/physical/links/1/duplex: expected 'full' or 'half'"},
    {"DuplexWithoutEnds", good_with("\"sharing\"", "\"duplex\": \"half\", \"sharing\""),
     "/physical/links/2/duplex: expected only where the link has the member 'between'"},
    {"OneEnd", good_with("[\"gpu:0\", \"plx\"]", "[\"gpu:0\"]"),
     "/physical/links/0/between: expected the two ends of the link, found 1"},
    {"ThreeEnds", good_with("[\"gpu:0\", \"plx\"]", "[\"gpu:0\", \"plx\", \"gpu:1\"]"),
     "/physical/links/0/between"},
    {"EndsAreOne", good_with("[\"gpu:0\", \"plx\"]", "[\"plx\", \"plx\"]"),
     "/physical/links/0/between: both ends are 'plx'"},
    {"EndIsANumber", good_with("[\"gpu:0\", \"plx\"]", "[\"gpu:0\", 7]"),
     "/physical/links/0/between/1"},
    {"UnknownEnd", good_with("[\"gpu:0\", \"plx\"]", "[\"gpuO\", \"plx\"]"),
     "/physical/links/0/between/0: 'gpuO' is not a device, and no other link ends there; did you "
     "mean "
     "'gpu:0'"},
    {"UnknownLinkOfARoute", good_with("[\"left\"", "[\"lift\""),
     "/physical/routes/0/links/0: unknown link 'lift'; did you mean 'left'"},
    {"UnknownDeviceOfARoute", good_with("\"to\": \"gpu:1\"", "\"to\": \"gpu:7\""),
     "/physical/routes/0/to: unknown device 'gpu:7'; did you mean 'gpu:0' or 'gpu:1'?"},
    {"RouteToASwitch", good_with("\"to\": \"gpu:1\"", "\"to\": \"plx\""),
     "/physical/routes/0/to: unknown device 'plx'"},
    {"RouteToItself", good_with("\"to\": \"gpu:1\"", "\"to\": \"gpu:0\""),
     "/physical/routes/0/to: expected another device than 'from'"},
    {"RouteWithoutLinks", good_with("[\"left\", \"right\"]", "[]"),
     "/physical/routes/0/links: expected 1 to 64 links, found 0"},
    {"RouteBreaks", good_with("[\"left\", \"right\"]", "[\"right\", \"left\"]"),
     "/physical/routes/0/links/0: the route is at 'gpu:0', but 'right' is between 'plx' and"},
    {"RouteEndsEarly", good_with("[\"left\", \"right\"]", "[\"left\"]"),
     "/physical/routes/0/links: the route ends at 'plx', not at 'gpu:1'"},
    {"RouteTakesALinkTwice", good_with("[\"left\", \"right\"]", "[\"left\", \"left\"]"),
     "/physical/routes/0/links/1: the route takes 'left' twice"},
    {"RouteTwice", good_with(R"("both": false})", R"("both": false},
        {"from": "gpu:1", "to": "gpu:0", "links": ["right", "left"], "both": true})"),
     "/physical/routes/1: another route leads from 'gpu:0' to 'gpu:1'"},
    {"BothIsANumber", good_with("false", "0"), "/physical/routes/0/both"},
    {"UnknownMemberOfARoute", good_with("\"both\"", "\"bth\""), "did you mean 'both'"},
    {"EndlessRoute", long_chain(65),
     "/physical: the route from 'gpu:1' to 'gpu:0' has 65 links, expected at most 64"},
    {"UnknownCopyEngine", good_with("\"copy_out\": \"engine\"", "\"copy_out\": \"engin\""),
     "/devices/0/copy_out: unknown link 'engin'; did you mean 'engine'"},
    {"CopyEngineWithEnds", good_with("\"copy_out\": \"engine\"", "\"copy_in\": \"left\""),
     "/devices/0/copy_in: expected a link without the member 'between', which 'left' has"},
    {"CopyEngineOfAnotherModel", with(kClusterText, "\"k80\"", "\"k80\", \"copy_out\": \"engine\""),
     "/devices/0/copy_out: expected only where the transfer model is 'physical'"},
    {"SwitchThatOneLinkReaches", good_with("[\"plx\", \"gpu:1\"]", "[\"root\", \"gpu:1\"]"),
     "/physical/links/0/between/1: 'plx' is not a device, and no other link ends there"},
};

INSTANTIATE_TEST_SUITE_P(Files, HostileTopology, ::testing::ValuesIn(kHostileTopologies),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace emplace::topology_hostile_test
