#include <emplace/base/error.hpp>
#include <emplace/profiles/constraints.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace emplace::constraints_test {
namespace {

using testing::HasSubstr;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string load_error(const std::string& parameters) {
  return error_of([&] { load_cluster("p2-8xlarge-2:" + parameters); });
}

TEST(Constraints, ArePartsOfTheNameOfACluster) {
  const std::string name =
      with_constraints("p2-8xlarge-2:framework=false", {.pins = {"mixed_5*=gpu:1", "input=cpu:0"},
                                                        .together = {"mixed_6b"},
                                                        .excluded = {"gpu:0"},
                                                        .memory = {"gpu:*=-1GB"}});
  EXPECT_EQ(name,
            "p2-8xlarge-2:framework=false,pin=mixed_5*=gpu:1;input=cpu:0,together=mixed_6b,"
            "exclude=gpu:0,memory=gpu:*=-1GB");
  const Cluster cluster = load_cluster(name);
  EXPECT_EQ(cluster.name, name);
  EXPECT_THAT(cluster.pins, testing::ElementsAre(Pin{"mixed_5*", "gpu:1"}, Pin{"input", "cpu:0"}));
  EXPECT_THAT(cluster.together, testing::ElementsAre("mixed_6b"));
  EXPECT_FALSE(cluster.devices[0].placeable);
  EXPECT_TRUE(cluster.devices[1].placeable);
  EXPECT_EQ(cluster.devices[1].memory_limit_bytes, 10'000'000'000);
  EXPECT_EQ(cluster.devices[2].memory_limit_bytes, 0);
}

TEST(Constraints, AreAddedToThoseOfAName) {
  EXPECT_EQ(with_constraints("c.json:pin=a=gpu:0", {.pins = {"b=gpu:1"}}),
            "c.json:pin=a=gpu:0;b=gpu:1");
  EXPECT_EQ(with_constraints("c", {}), "c");
}

TEST(Constraints, OfAClusterAreWrittenWithIt) {
  const Cluster cluster =
      load_cluster("p2-8xlarge-2:pin=a=cpu:0,together=b;c,exclude=gpu:1,memory=gpu:0=2.5GiB");
  EXPECT_EQ(read_cluster(write_cluster_json(cluster), "written"), cluster);
}

TEST(Constraints, AreReadFromAFile) {
  const Constraints read = read_constraints(
      R"({"schema": "emplace-constraints", "version": 1, "pin": {"a/*": "gpu:0"},
          "together": ["b"], "exclude": ["gpu:1"], "memory": {"gpu:0": "5GB"}})",
      "file");
  EXPECT_THAT(read.pins, testing::ElementsAre("a/*=gpu:0"));
  EXPECT_THAT(read.together, testing::ElementsAre("b"));
  EXPECT_THAT(read.excluded, testing::ElementsAre("gpu:1"));
  EXPECT_THAT(read.memory, testing::ElementsAre("gpu:0=5GB"));
  EXPECT_THAT(error_of([] {
                read_constraints(R"({"schema": "emplace-constraints", "version": 1, "pins": {}})",
                                 "c.json");
              }),
              testing::AllOf(HasSubstr("c.json"), HasSubstr("pins")));
}

TEST(Constraints, ThatCannotBeKeptAreRefused) {
  EXPECT_THAT(load_error("pin=a=gpu:7"), HasSubstr("gpu:7"));
  EXPECT_THAT(load_error("pin=gpu:0"), HasSubstr("SCOPE=DEVICE"));
  EXPECT_THAT(load_error("pin=a=gpu:0,exclude=gpu:0"),
              testing::AllOf(HasSubstr("contradict"), HasSubstr("'a'")));
  EXPECT_THAT(load_error("exclude=gpu:*"), HasSubstr("no device is left"));
  EXPECT_THAT(load_error("exclude=tpu"), HasSubstr("tpu"));
  EXPECT_THAT(load_error("memory=gpu:0=20GB"), HasSubstr("11.000 GB"));
  EXPECT_THAT(load_error("memory=gpu:0=-11GB"), HasSubstr("11.000 GB"));
  EXPECT_THAT(load_error("memory=gpu:0=much"), HasSubstr("'much' is no size"));
  EXPECT_THAT(error_of([] { with_constraints("c", {.pins = {"a,b=gpu:0"}}); }), HasSubstr("','"));
}

TEST(Constraints, SelectByNameAndByScopesAround) {
  EXPECT_TRUE(selects("block_1", "block_1/conv/weights", "block_1/conv"));
  EXPECT_TRUE(selects("block_1/conv", "block_1/conv/weights", "block_1/conv"));
  EXPECT_TRUE(selects("*weights", "block_1/conv/weights", "block_1/conv"));
  EXPECT_TRUE(selects("block_[12]", "x", "block_2"));
  EXPECT_FALSE(selects("block_1", "block_10/conv", "block_10"));
  EXPECT_FALSE(selects("conv", "block_1/conv/weights", "block_1/conv"));
}

TEST(Sizes, HaveUnits) {
  EXPECT_EQ(parse_size("20GB", "size"), 20'000'000'000);
  EXPECT_EQ(parse_size("1.5 GiB", "size"), 1'610'612'736);
  EXPECT_EQ(parse_size("-500MB", "size"), -500'000'000);
  EXPECT_EQ(parse_size("7B", "size"), 7);
  for (const char* const wrong : {"", "20", "GB", "1e300GB", "20 gb", "nanGB"}) {
    EXPECT_THAT(error_of([&] { parse_size(wrong, "the size"); }), HasSubstr("the size")) << wrong;
  }
}

}  // namespace
}  // namespace emplace::constraints_test
