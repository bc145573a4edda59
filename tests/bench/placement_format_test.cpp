#include "bench/src/export/formats.hpp"
#include "bench/src/export/module_tree.hpp"
#include "support/errors.hpp"
#include "support/problems.hpp"

#include <emplace/bench/placement_format.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace emplace::bench::placement_format_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

// Names as torch.onnx 1.13 to 2.x writes them.
TEST(ModulePath, FollowsTheExporterOfPyTorch) {
  EXPECT_EQ(module_path(""), "");
  EXPECT_EQ(module_path("conv1"), "conv1");
  EXPECT_EQ(module_path("layer1/layer1.0/conv1"), "layer1.0.conv1");
  EXPECT_EQ(module_path("layer2/layer2.0/downsample/downsample.0"), "layer2.0.downsample.0");
  EXPECT_EQ(module_path("features/features.0/features.0.1"), "features.0.1");
  EXPECT_EQ(module_path("encoder/layer.11/attention/self"), "encoder.layer.11.attention.self");
  EXPECT_EQ(module_path("layer1.0.conv1"), "layer1.0.conv1");  // as torch.fx has it
  EXPECT_EQ(module_path("/a//b/"), "a.b");
}

TEST(DeviceNames, AreThoseOfPyTorchAndTensorFlow) {
  EXPECT_EQ(torch_device("gpu:12"), "cuda:12");
  EXPECT_EQ(torch_device("cpu:1"), "cpu");
  EXPECT_EQ(tensorflow_device("gpu:3"), "/job:localhost/replica:0/task:0/device:GPU:3");
  EXPECT_EQ(tensorflow_device("cpu:0"), "/job:localhost/replica:0/task:0/device:CPU:0");
  for (const char* other :
       {"", "gpu", "gpu:", "gpu:x", "gpu:1x", "gpu:-1", "gpu:123456", "tpu:0"}) {
    EXPECT_THROW(torch_device(other), Error) << other;
    EXPECT_THROW(tensorflow_device(other), Error) << other;
  }
}

TEST(PlacementFormats, AreSortedAndFoundByName) {
  const std::vector<std::string> names = placement_format_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_THAT(names, ElementsAre("csv", "onnx", "tensorflow", "torch-device-map", "torch-fx"));
  EXPECT_THROW(find_placement_format("pickle"), Error);
}

// A residual block with a branch: stem -> block.a -> block.b, and block adds stem and block.b.
Problem residual() {
  return test::make_problem(test::make_graph({
      {.name = "stem/op", .cost_us = 10, .output_bytes = 20, .scope = "stem"},
      {.name = "block/a/op",
       .cost_us = 50,
       .output_bytes = 20,
       .producers = {0},
       .scope = "block/a"},
      {.name = "block/b/op",
       .cost_us = 50,
       .output_bytes = 20,
       .producers = {1},
       .scope = "block/b"},
      {.name = "block/add",
       .cost_us = 1,
       .output_bytes = 20,
       .producers = {0, 2},
       .scope = "block"},
      {.name = "head/op", .cost_us = 10, .producers = {3}, .scope = "head"},
  }));
}

PlacementExport exported(const char* format, const Problem& problem,
                         std::vector<DeviceId> devices) {
  return find_placement_format(format).write(problem, Placement(std::move(devices)));
}

TEST(TorchDeviceMap, LeavesOutModulesThatAreSplit) {
  // b brings the sum to device 0, where stem is.
  const PlacementExport result = exported("torch-device-map", residual(), {0, 1, 0, 0, 1});
  EXPECT_EQ(Json::parse(result.text),
            Json::parse(R"({"stem":0,"block.a":1,"block.b":0,"head":1})"));
  EXPECT_EQ(result.placement, Placement(std::vector<DeviceId>{0, 1, 0, 0, 1}));
  EXPECT_TRUE(result.colocated.empty());
}

TEST(TorchDeviceMap, ASumRunsWhereItsInputsAre) {
  // The sum itself is on device 1, but what it reads is on device 0.
  const PlacementExport result = exported("torch-device-map", residual(), {0, 1, 0, 1, 1});
  EXPECT_EQ(result.placement[3], 0);
  ASSERT_EQ(result.colocated.size(), 1);
  EXPECT_EQ(result.colocated[0].what, "block/add");
  EXPECT_THAT(result.colocated[0].devices, ElementsAre(1));
  EXPECT_EQ(result.colocated[0].device, 0);
}

TEST(TorchDeviceMap, BringsTheInputsOfASumTogether) {
  const Problem problem = residual();
  const PlacementExport result = exported("torch-device-map", problem, {0, 1, 1, 1, 1});
  const Placement& placement = result.placement;
  // The block is on one device, so what enters it moves there: nothing had to change.
  EXPECT_EQ(placement, Placement(std::vector<DeviceId>{0, 1, 1, 1, 1}));
  EXPECT_EQ(Json::parse(result.text), Json::parse(R"({"stem":0,"block":1,"head":1})"));

  const PlacementExport split = exported("torch-device-map", problem, {0, 0, 1, 1, 1});
  // Now stem and b cannot be summed. The inputs must be together, or the block one; and the step is
  // no longer than it was, or than what other choices give.
  const Placement& together = split.placement;
  EXPECT_TRUE(together[0] == together[2] || together[1] == together[2]);
  Simulator simulator(problem);
  const double step_us = simulator.run(together).makespan_us;
  const double first_us =
      simulator.run(Placement(std::vector<DeviceId>{0, 0, 1, 1, 1})).makespan_us;
  for (const std::vector<DeviceId>& other :
       {std::vector<DeviceId>{0, 0, 0, 0, 1}, {0, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}}) {
    EXPECT_LE(step_us, std::max(first_us, simulator.run(Placement(other)).makespan_us));
  }
}

// A language model: words -> stack -> head, where the head has the weight of the words; with
// `in_model`, the model itself reads it, and there is no module head.
Problem tied(bool in_model) {
  const std::string head = in_model ? "" : "head";
  OpGraph graph = test::make_graph({
      {.name = "words.weight", .output_bytes = 20, .persistent_bytes = 20, .scope = "words"},
      {.name = "words/op", .cost_us = 50, .output_bytes = 20, .producers = {0}, .scope = "words"},
      {.name = "stack/a/op",
       .cost_us = 50,
       .output_bytes = 20,
       .producers = {1},
       .scope = "stack/a"},
      {.name = "stack/b/op",
       .cost_us = 50,
       .output_bytes = 20,
       .producers = {2},
       .scope = "stack/b"},
      {.name = "head/op", .cost_us = 50, .producers = {3, 0}, .scope = head},
  });
  graph[0].kind = "variable";
  return test::make_problem(graph);
}

TEST(TorchDeviceMap, ModulesThatShareAWeightAreTogether) {
  const PlacementExport result = exported("torch-device-map", tied(false), {0, 0, 1, 1, 1});
  EXPECT_EQ(result.placement[0], result.placement[1]);
  EXPECT_EQ(result.placement[0], result.placement[4]);
  ASSERT_FALSE(result.colocated.empty());
  EXPECT_EQ(result.colocated[0].what, "words.weight");
  EXPECT_THAT(result.colocated[0].devices, ElementsAre(0, 1));
  EXPECT_THAT(result.colocated[0].shared_by, ElementsAre("words", "head"));

  // Where they are together, nothing changes.
  const PlacementExport kept = exported("torch-device-map", tied(false), {0, 0, 1, 1, 0});
  EXPECT_EQ(Json::parse(kept.text), Json::parse(R"({"words":0,"stack":1,"head":0})"));
  EXPECT_TRUE(kept.colocated.empty());
}

TEST(TorchDeviceMap, AWeightIsWhereWhatItMeetsIs) {
  // No module of the map moves what the model itself multiplies, so stack.b has to be where the
  // weight is.
  const PlacementExport kept = exported("torch-device-map", tied(true), {0, 0, 1, 0, 0});
  EXPECT_EQ(kept.placement, Placement(std::vector<DeviceId>{0, 0, 1, 0, 0}));
  const PlacementExport result = exported("torch-device-map", tied(true), {0, 0, 1, 1, 1});
  EXPECT_EQ(result.placement[3], result.placement[0]);
  EXPECT_EQ(result.placement[4], result.placement[0]);
  EXPECT_THAT(result.colocated[0].shared_by, ElementsAre("words", ""));
}

TEST(TorchDeviceMap, ATiedModuleThatIsReadByBlocksOfTwoDevicesEnds) {
  // Two blocks, each with a layer of its own and one that both share, and a sum of both layers.
  OpGraph graph = test::make_graph({
      {.name = "weight", .output_bytes = 20, .persistent_bytes = 20, .scope = "one/shared"},
      {.name = "one/shared/op", .producers = {0}, .scope = "one/shared"},
      {.name = "one/own/op", .scope = "one/own"},
      {.name = "one/add", .producers = {1, 2}, .scope = "one"},
      {.name = "two/shared/op", .producers = {0}, .scope = "two/shared"},
      {.name = "two/own/op", .scope = "two/own"},
      {.name = "two/add", .producers = {4, 5}, .scope = "two"},
  });
  graph[0].kind = "variable";
  const Problem problem = test::make_problem(graph);
  for (int bits = 0; bits < 128; ++bits) {
    std::vector<DeviceId> devices;
    devices.reserve(7);
    for (int op = 0; op < 7; ++op) {
      devices.emplace_back((bits >> op) & 1);
    }
    const Placement& placement =
        exported("torch-device-map", problem, std::move(devices)).placement;
    EXPECT_EQ(placement[0], placement[1]) << bits;
    EXPECT_EQ(placement[0], placement[4]) << bits;
    EXPECT_EQ(placement[3], placement[2]) << bits;
  }
}

TEST(StoredPaths, AreThoseOfPyTorch) {
  EXPECT_THAT(stored_paths("layer1.0.conv1.weight"), ElementsAre("layer1.0.conv1.weight"));
  EXPECT_THAT(stored_paths("encoder/ln/weight+bias"),
              ElementsAre("encoder.ln.weight", "encoder.ln.bias"));
  EXPECT_THAT(stored_paths("n1.weight+n1.bias"), ElementsAre("n1.weight", "n1.bias"));
  EXPECT_THAT(stored_paths("onnx::MatMul_37"), ElementsAre());
  EXPECT_THAT(stored_paths("/layer/Constant_output_0"), ElementsAre());
}

// A transformer: a token of the model itself, and positions and a mask that the encoder holds next
// to its blocks.
Problem with_stored() {
  OpGraph graph = test::make_graph({
      {.name = "x"},
      {.name = "patches/op", .cost_us = 50, .producers = {0}, .scope = "patches"},
      {.name = "token", .persistent_bytes = 20},
      {.name = "concat", .producers = {1, 2}},
      {.name = "encoder/positions", .persistent_bytes = 20, .scope = "encoder"},
      {.name = "encoder/mask", .persistent_bytes = 20, .scope = "encoder"},
      {.name = "encoder/add", .producers = {3, 4, 5}, .scope = "encoder"},
      {.name = "encoder/0/op", .cost_us = 50, .producers = {6}, .scope = "encoder/0"},
      {.name = "encoder/1/op", .cost_us = 50, .producers = {7}, .scope = "encoder/1"},
  });
  graph[0].kind = "input";
  graph[2].kind = graph[4].kind = "variable";
  graph[5].kind = "constant";
  return test::make_problem(graph);
}

TEST(TorchDeviceMap, NamesWhatIsNextToModules) {
  const std::vector<DeviceId> devices{1, 1, 1, 1, 1, 1, 1, 1, 0};
  const PlacementExport result = exported("torch-device-map", with_stored(), devices);
  EXPECT_EQ(result.placement, Placement(devices));
  EXPECT_EQ(Json::parse(result.text).dump(),
            R"({"patches":1,"encoder.0":1,"encoder.1":0,"token":1,"encoder.positions":1,)"
            R"("encoder.mask":1})");
}

TEST(TorchDeviceMap, BeginsWithTheDeviceOfWhatTheModelHolds) {
  OpGraph graph = test::make_graph({
      {.name = "x"},
      {.name = "a/op", .cost_us = 50, .producers = {0}, .scope = "a"},
      {.name = "b/op", .cost_us = 50, .producers = {1}, .scope = "b"},
      {.name = "scale", .persistent_bytes = 20},
      {.name = "multiply", .producers = {2, 3}},
      {.name = "labels"},
      {.name = "loss/op", .producers = {4, 5}, .scope = "loss"},
  });
  graph[0].kind = graph[5].kind = "input";
  graph[3].kind = "variable";
  const Problem problem = test::make_problem(graph);
  // What is held by the model is on 0, and so is what enters it.
  const PlacementExport at_end = exported("torch-device-map", problem, {1, 1, 0, 0, 0, 0, 0});
  EXPECT_EQ(Json::parse(at_end.text).dump(), R"({"b":0,"a":1,"scale":0})");
  EXPECT_EQ(at_end.placement, Placement(std::vector<DeviceId>{0, 1, 0, 0, 0, 0, 0}));
}

TEST(TorchDeviceMap, TheLossIsOnTheMainDevice) {
  // It reads labels there, and the result of the last module wherever that is.
  OpGraph graph = test::make_graph({
      {.name = "x"},
      {.name = "a/op", .cost_us = 50, .producers = {0}, .scope = "a"},
      {.name = "b/op", .cost_us = 50, .producers = {1}, .scope = "b"},
      {.name = "labels"},
      {.name = "loss/op", .producers = {2, 3}, .scope = "loss"},
  });
  graph[0].kind = graph[3].kind = "input";
  const Problem problem = test::make_problem(graph);
  EXPECT_EQ(exported("torch-device-map", problem, {0, 0, 1, 1, 1}).placement,
            Placement(std::vector<DeviceId>{0, 0, 1, 0, 0}));
}

TEST(TorchDeviceMap, AModelOnOneDeviceIsOneEntry) {
  EXPECT_EQ(Json::parse(exported("torch-device-map", residual(), {1, 1, 1, 1, 1}).text),
            Json::parse(R"({"":1})"));
}

TEST(TorchDeviceMap, SaysThatItHoldsNoOrder) {
  Placement placement(std::vector<DeviceId>{0, 1, 0, 0, 1});
  placement.set_priorities(std::vector<Priority>{5, 4, 3, 2, 1});
  const PlacementExport result =
      find_placement_format("torch-device-map").write(residual(), placement);
  EXPECT_FALSE(result.keeps_order);
  EXPECT_FALSE(result.placement.has_priorities());
}

TEST(TorchFx, CutsAnyEdgeBetweenModules) {
  const PlacementExport result = exported("torch-fx", residual(), {0, 0, 1, 0, 1});
  EXPECT_TRUE(result.colocated.empty());
  EXPECT_THAT(result.text, HasSubstr(R"("block": "cuda:0",)"));
  EXPECT_THAT(result.text, HasSubstr(R"("block.b": "cuda:1",)"));
  EXPECT_THAT(result.text, HasSubstr("ORDER = {}"));
}

TEST(TorchFx, ModulesThatShareAWeightAreTogether) {
  const PlacementExport result = exported("torch-fx", tied(false), {0, 0, 1, 1, 1});
  EXPECT_EQ(result.placement[4], result.placement[0]);
  EXPECT_THAT(result.colocated[0].shared_by, ElementsAre("words", "head"));
  // What the model itself computes may read it from another device.
  EXPECT_TRUE(exported("torch-fx", tied(true), {0, 0, 1, 1, 1}).colocated.empty());
}

TEST(TorchFx, KeepsTheOrderOfTheStep) {
  // a and b are ready at once; b has the higher priority.
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a/op", .scope = "a"}, {.name = "b/op", .scope = "b"}}));
  Placement placement(2);
  placement.set_priorities(std::vector<Priority>{1, 2});
  const PlacementExport result = find_placement_format("torch-fx").write(problem, placement);
  EXPECT_THAT(result.text, HasSubstr("ORDER = {\n    \"b\": 0,\n    \"a\": 1,\n}"));
}

TEST(Tensorflow, ControlDependenciesChainTheOpsOfADevice) {
  // On device 0 b, then a; c reads b alone.
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a"}, {.name = "b"}, {.name = "c", .producers = {1}}}));
  Placement placement(3);
  placement.set_priorities(std::vector<Priority>{2, 3, 1});
  const Json file = Json::parse(find_placement_format("tensorflow").write(problem, placement).text);
  EXPECT_EQ(file["control_dependencies"], Json::parse(R"([["b","a"],["a","c"]])"));
}

TEST(Csv, QuotesWhatNeedsIt) {
  const Problem problem = test::make_problem(test::make_graph({{.name = "a,\"b\"", .cost_us = 3}}));
  EXPECT_EQ(find_placement_format("csv").write(problem, Placement(1)).text,
            "op,kind,phase,scope,device,priority,start_us,end_us\n"
            "\"a,\"\"b\"\"\",test,forward,,gpu:0,,0,3\n");
}

TEST(PlacementFormats, OfOtherProgramsHaveNoReplicas) {
  OpGraph graph = test::make_graph({{.name = "a", .scope = "one"}, {.name = "b", .scope = "two"}});
  graph[1].replica = 1;
  const Problem problem = test::make_problem(graph);
  const Placement placement(std::vector<DeviceId>{0, 1});
  for (const PlacementFormat& format : placement_formats()) {
    if (format.name == "csv") {
      EXPECT_THAT(format.write(problem, placement).text, HasSubstr("b,"));
      continue;
    }
    EXPECT_THAT(test::error_of(ErrorCode::kUnsupported, [&] { format.write(problem, placement); }),
                HasSubstr("graph 'test' has replicas"))
        << format.name;
  }
}

TEST(TorchFormats, NeedScopes) {
  const Problem problem = test::make_problem(test::make_graph({{.name = "a"}}));
  for (const char* format : {"torch-device-map", "torch-fx"}) {
    EXPECT_THAT(test::error_of(ErrorCode::kUnsupported, [&] { exported(format, problem, {0}); }),
                HasSubstr("no op has a scope"));
  }
}

}  // namespace
}  // namespace emplace::bench::placement_format_test
