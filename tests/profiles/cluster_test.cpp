#include "profiles/profile_texts.hpp"
#include "tests/support/source_path.hpp"

#include <emplace/base/error.hpp>
#include <emplace/profiles/cluster.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::cluster_test {
namespace {

TEST(ClusterFile, NamesDevicesTheirProfilesAndTheTransferModel) {
  const Cluster cluster = read_cluster(kClusterText, "lab.json");
  EXPECT_EQ(cluster.name, "lab");
  EXPECT_EQ(cluster.summary, "a cluster for tests");
  EXPECT_EQ(cluster.placeto.gap_after_op_us, 1);
  EXPECT_EQ(cluster.placeto.gap_after_transfer_us, 2);
  EXPECT_EQ(cluster.placeto.bytes_per_us, 1000);
  ASSERT_EQ(cluster.devices.size(), 2U);
  EXPECT_EQ(cluster.devices[0].name, "gpu:0");
  EXPECT_EQ(cluster.profiles[cluster.devices[0].profile].name, "k80");
  EXPECT_TRUE(cluster.devices[0].placeable);
  EXPECT_EQ(cluster.devices[1].name, "cpu:0");
  EXPECT_EQ(cluster.profiles[cluster.devices[1].profile].name, "xeon-e5-2686-v4");
  EXPECT_FALSE(cluster.devices[1].placeable);
  EXPECT_EQ(cluster.provenance.source, "a test");
}

TEST(ClusterFile, DevicesOfOneProfileShareIt) {
  const std::string text = with(kClusterText, "\"xeon-e5-2686-v4\"", "\"k80\"");
  const Cluster cluster = read_cluster(text, "lab.json");
  EXPECT_EQ(cluster.profiles.size(), 1U);
  EXPECT_EQ(cluster.devices[0].profile, cluster.devices[1].profile);
}

TEST(ClusterFile, ProfileMayBeWrittenInPlaceAndNamedLater) {
  std::string text = with(kClusterText, "\"k80\"", kProfileText);
  text = with(text, "\"xeon-e5-2686-v4\"", "\"tiny\"");
  const Cluster cluster = read_cluster(text, "lab.json");
  ASSERT_EQ(cluster.profiles.size(), 1U);
  EXPECT_EQ(cluster.profiles[0].name, "tiny");
  EXPECT_EQ(cluster.profiles[0].memory_bytes, 4'000'000'000);
  EXPECT_EQ(cluster.devices[1].profile, 0U);
}

TEST(ClusterFile, GrapplerModelHasALatencyAndASpeed) {
  std::string text = with(kClusterText, "\"placeto\",", "\"grappler\",");
  text = with(text, "\"placeto\": {\"gap_after_op_us\": 1, \"gap_after_transfer_us\": 2,",
              "\"grappler\": {\"latency_us\": 3,");
  const Cluster cluster = read_cluster(text, "lab.json");
  EXPECT_EQ(cluster.transfer_model, TransferModel::kGrappler);
  EXPECT_EQ(cluster.grappler.latency_us, 3);
  EXPECT_EQ(cluster.grappler.bytes_per_us, 1000);
}

TEST(ClusterFile, ModelsOrdersAndSharingsHaveTheNamesOfTheFormat) {
  EXPECT_EQ(to_string(TransferModel::kPlaceto), "placeto");
  EXPECT_EQ(to_string(TransferModel::kPhysical), "physical");
  EXPECT_EQ(to_string(TransferModel::kGrappler), "grappler");
  EXPECT_EQ(to_string(QueueOrder::kFifo), "fifo");
  EXPECT_EQ(to_string(QueueOrder::kCriticalPath), "critical-path");
  EXPECT_EQ(to_string(LinkSharing::kFair), "fair");
  EXPECT_EQ(to_string(LinkSharing::kFifo), "fifo");
  EXPECT_EQ(to_string(LinkSharing::kFatpipe), "fatpipe");
}

class ShippedP2 : public ::testing::TestWithParam<int> {};

// The constants of Placeto's simulator; K80s first, then the host, which agents leave alone.
TEST_P(ShippedP2, HasItsGpusAndPlacetosConstants) {
  const int gpus = GetParam();
  const Cluster cluster = load_cluster("p2-8xlarge-" + std::to_string(gpus));
  EXPECT_EQ(cluster.transfer_model, TransferModel::kPlaceto);
  EXPECT_EQ(cluster.placeto.gap_after_op_us, 5.7);
  EXPECT_EQ(cluster.placeto.gap_after_transfer_us, 25);
  EXPECT_EQ(cluster.placeto.bytes_per_us, 7600);
  ASSERT_EQ(cluster.devices.size(), static_cast<std::size_t>(gpus) + 1);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const Device& device = cluster.devices[static_cast<std::size_t>(gpu)];
    EXPECT_EQ(device.name, "gpu:" + std::to_string(gpu));
    EXPECT_EQ(cluster.profiles[device.profile].name, "k80-placeto-paper");
    EXPECT_TRUE(device.placeable);
  }
  EXPECT_EQ(cluster.devices.back().name, "cpu:0");
  EXPECT_FALSE(cluster.devices.back().placeable);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ShippedP2, ::testing::Values(2, 4));

TEST(ClusterCatalog, ShippedNamesAreTheNamesInTheFiles) {
  EXPECT_THAT(cluster_names(), ::testing::IsSupersetOf({"p2-8xlarge-2", "p2-8xlarge-4"}));
  EXPECT_THAT(cluster_names(), ::testing::WhenSorted(::testing::ContainerEq(cluster_names())));
  for (const std::string& name : cluster_names()) {
    EXPECT_EQ(load_cluster(name).name, name);
  }
}

TEST(ClusterCatalog, ReadsAFileWhereAPathIsGiven) {
  const std::string path = test::source_path("profiles/data/clusters/p2-8xlarge-2.json");
  EXPECT_EQ(load_cluster(path).name, "p2-8xlarge-2");
}

TEST(ClusterCatalog, UnknownNameSuggestsTheNearest) {
  EXPECT_THAT(test::error_of(ErrorCode::kUnknownName, [&] { load_cluster("p2-8xlarge-3"); }),
              ::testing::HasSubstr("'p2-8xlarge-2'"));
}

TEST(ClusterCatalog, MissingFileIsNamed) {
  EXPECT_THAT(test::error_of(ErrorCode::kIo, [&] { load_cluster("no/such/cluster.json"); }),
              ::testing::HasSubstr("no/such/cluster.json"));
}

class HostileCluster : public ::testing::TestWithParam<HostileText> {};

TEST_P(HostileCluster, IsRefusedWithFileAndPlace) {
  EXPECT_THAT(
      test::error_of(ErrorCode::kFormat, [&] { read_cluster(GetParam().text, "bad.json"); }),
      testing::AllOf(::testing::StartsWith("bad.json:"), ::testing::HasSubstr(GetParam().says)));
}

std::string with_devices(std::string_view devices) {
  const std::size_t begin = kClusterText.find('[');
  const std::size_t end = kClusterText.find(']');
  return with(kClusterText, kClusterText.substr(begin, end + 1 - begin), devices);
}

std::string many_devices(int count) {
  std::string devices = "[";
  for (int device = 0; device < count; ++device) {
    devices += device > 0 ? "," : "";
    devices += R"({"profile": "k80", "name": "gpu:)" + std::to_string(device) + "\"}";
  }
  return with_devices(devices + "]");
}

TEST(ClusterFile, HoldsUpTo1024Devices) {
  EXPECT_EQ(read_cluster(many_devices(1024), "large.json").devices.size(), 1024U);
}

const HostileText kHostileClusters[] = {
    {"Empty", "", "bad.json:"},
    {"OnlySpace", " \n\t ", "bad.json:"},
    {"Truncated", std::string(kClusterText.substr(0, kClusterText.size() - 40)), "bad.json:"},
    {"TrailingText", std::string(kClusterText) + "{}", "bad.json:"},
    {"NotUtf8", with(kClusterText, "a cluster", "a \xc3\x28 cluster"), "bad.json:"},
    {"AProfileInstead", std::string(kProfileText), "emplace-cluster"},
    {"DeeplyNested", std::string(100'000, '['), "bad.json:"},
    {"NegativeGap", with(kClusterText, "\"gap_after_op_us\": 1", "\"gap_after_op_us\": -1"),
     "/placeto/gap_after_op_us"},
    {"NotANumberGap", with(kClusterText, "\"gap_after_op_us\": 1", "\"gap_after_op_us\": NaN"),
     "bad.json:"},
    {"GiganticGap", with(kClusterText, "\"gap_after_op_us\": 1", "\"gap_after_op_us\": 1e300"),
     "/placeto/gap_after_op_us"},
    {"NoBandwidth", with(kClusterText, "1000", "0"), "/placeto/bytes_per_us"},
    {"BandwidthIsAText", with(kClusterText, "1000", "\"fast\""), "/placeto/bytes_per_us"},
    {"GapTwice", with(kClusterText, "\"bytes_per_us\"", "\"gap_after_op_us\": 3, \"bytes_per_us\""),
     "gap_after_op_us"},
    {"UnknownTransferModel", with(kClusterText, "\"placeto\",", "\"telepathy\","),
     "/transfer_model: expected 'placeto' or 'physical' or 'grappler'"},
    {"NoDevices", with_devices("[]"), "/devices: expected 1 to 1024 devices, found 0"},
    {"TooManyDevices", many_devices(1025), "found 1025"},
    {"DevicesAreAnObject", with_devices("{}"), "/devices"},
    {"DeviceIsAText", with_devices("[\"k80\"]"), "/devices/0"},
    {"DeviceTwice", with(kClusterText, "cpu:0", "gpu:0"), "/devices/1/name"},
    {"DeviceWithoutAName", with(kClusterText, "\"gpu:0\"", "\"\""), "/devices/0/name"},
    {"UnknownProfile", with(kClusterText, "\"k80\"", "\"k81\""), "/devices/0/profile: unknown"},
    {"UnknownProfileSuggestsTheNearest", with(kClusterText, "\"k80\"", "\"k81\""), "'k80'"},
    {"ProfileIsANumber", with(kClusterText, "\"k80\"", "80"), "/devices/0/profile"},
    {"ProfileInPlaceIsChecked", with(kClusterText, "\"k80\"", with(kProfileText, "2e12", "-2e12")),
     "/devices/0/profile/peak_flops_per_s"},
    {"ProfileInPlaceTakesAUsedName",
     with(kClusterText, "\"xeon-e5-2686-v4\"", with(kProfileText, "\"tiny\"", "\"k80\"")),
     "/devices/1/profile/name"},
    {"NothingPlaceable", with(kClusterText, "\"k80\"", "\"k80\", \"placeable\": false"),
     "/devices: expected at least one placeable device"},
    {"PlaceableIsANumber", with(kClusterText, "false", "0"), "/devices/1/placeable"},
    {"UnknownMember", with(kClusterText, "\"placeable\"", "\"placable\""), "placable"},
};

INSTANTIATE_TEST_SUITE_P(Files, HostileCluster, ::testing::ValuesIn(kHostileClusters),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace emplace::cluster_test
