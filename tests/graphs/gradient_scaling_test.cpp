// Clipping and dynamic loss scaling: what a step does with all of its gradients before it updates.

#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/source_path.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_names.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_json.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/repeated_steps.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace emplace::gradient_scaling_test {
namespace {

using test::count_kinds;
using test::find;
using test::inputs_of;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kNetwork = "vgg-16:batch=8";
constexpr int kVariables = 32;
constexpr std::int64_t kGradients = kVariables;  // in sums of FLOPs and bytes
constexpr std::int64_t kParameters = 138'357'544;
const std::string kUpdate = "fc8/matmul/weights/update";
const std::string kGradient = "fc8/matmul/grad_right";

std::int64_t bytes_of(const OpGraph& graph) {
  std::int64_t bytes = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    bytes += graph[op].bytes_read + graph[op].bytes_written;
  }
  return bytes;
}

// Returns what is behind an op, by whatever edges.
std::set<std::string> all_before(const OpGraph& graph, std::string_view name) {
  std::vector<OpId> open = {test::op_named(graph, name)};
  std::set<std::string> found;
  while (!open.empty()) {
    const OpId op = open.back();
    open.pop_back();
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), graph))) {
      const auto before = static_cast<OpId>(boost::source(edge, graph));
      if (found.insert(graph[index_of(before)].name).second) {
        open.push_back(before);
      }
    }
  }
  return found;
}

std::string ops_of(const OpGraph& graph) {
  const std::string text = write_graph_json(graph);
  return text.substr(text.find("\"ops\""));
}

// Expects each update to wait for all gradients of its replica.
void expect_updates_wait(const OpGraph& graph, const std::string& joint, std::size_t gradients) {
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const Op& update = graph[op];
    if (update.kind == "optimizer_update") {
      const std::string own =
          update.replica == 0 ? joint : joint + "@" + std::to_string(update.replica);
      EXPECT_EQ(all_before(graph, update.name).count(own), 1) << update.name;
      EXPECT_EQ(inputs_of(graph, own).size(), gradients);
    }
  }
}

// For each parameter a square and a sum, and a product; of the norms the same, and three numbers.
TEST(GradientClipping, CostsANormAndAProductOfEachGradient) {
  const OpGraph plain = load_graph(kNetwork);
  const OpGraph clipped = load_graph(kNetwork + ",clip=true");
  EXPECT_EQ(num_ops(clipped), num_ops(plain) + 2 * kVariables + 1);
  EXPECT_EQ(count_kinds(clipped)["reduce_l2"], kVariables);
  EXPECT_EQ(count_kinds(clipped)["clip_factor"], 1);
  EXPECT_EQ(totals(clipped).flops, totals(plain).flops + 3 * kParameters + 2 * kGradients + 3);
  // Each gradient is read twice and written once; scalars are written once and read again, the
  // factor by each product.
  EXPECT_EQ(bytes_of(clipped),
            bytes_of(plain) + 12 * kParameters + 4 * (2 * kGradients + 1 + kGradients));
  EXPECT_EQ(totals(clipped).persistent_bytes, totals(plain).persistent_bytes);
  EXPECT_EQ(totals(clipped).parameters, totals(plain).parameters);
}

TEST(GradientClipping, ComesBeforeAllUpdates) {
  const OpGraph graph = load_graph(kNetwork + ",clip=true");
  EXPECT_THAT(inputs_of(graph, kUpdate + "/norm"), ElementsAre(kGradient + ":0"));
  EXPECT_THAT(inputs_of(graph, kUpdate + "/clip"), ElementsAre(kGradient + ":0", "clip_factor:0"));
  EXPECT_THAT(inputs_of(graph, kUpdate), ElementsAre(kUpdate + "/clip:0", "fc8/matmul/weights:0"));
  EXPECT_EQ(find(graph, kUpdate + "/clip").kind, "scale");
  EXPECT_EQ(find(graph, kUpdate + "/norm").outputs[0].bytes, 4);
  expect_updates_wait(graph, "clip_factor", kVariables);
}

// The norm is next to the gradient and the product next to the update, but the two are not tied:
// all would be one group.
TEST(GradientClipping, TiesNoGradientToAnother) {
  const OpGraph graph = load_graph(kNetwork + ",clip=true");
  EXPECT_EQ(find(graph, kUpdate + "/norm").colocation, kGradient);
  EXPECT_EQ(find(graph, kUpdate + "/clip").colocation, kUpdate);
  EXPECT_EQ(find(graph, kUpdate).colocation, kUpdate);
  EXPECT_EQ(find(graph, kUpdate + "/clip").scope, find(graph, kUpdate).scope);
  const auto num_groups = [](const OpGraph& of) {
    return find_grouping("colocation").group(of, 1).size();
  };
  EXPECT_EQ(num_groups(graph), num_groups(load_graph(kNetwork)) + kVariables + 1);
}

TEST(LossScaling, ChecksEachGradientInOnePass) {
  const std::string mixed = kNetwork + ",dtype=float16";
  const OpGraph plain = load_graph(mixed);
  const OpGraph checked = load_graph(mixed + ",loss-scaling=dynamic");
  EXPECT_EQ(num_ops(checked), num_ops(plain) + kVariables + 1);
  EXPECT_EQ(totals(checked).flops, totals(plain).flops + 2 * kParameters + kGradients - 1);
  EXPECT_EQ(bytes_of(checked), bytes_of(plain) + 8 * kParameters + 4 * (2 * kGradients + 1));
  EXPECT_THAT(inputs_of(checked, kUpdate + "/unscale"),
              ElementsAre("fc8/matmul/weights/cast/grad:0"));
  EXPECT_EQ(inputs_of(checked, "found_inf").size(), kVariables);
  EXPECT_EQ(inputs_of(checked, kUpdate)[0], kUpdate + "/unscale:0");
  expect_updates_wait(checked, "found_inf", kVariables);
  EXPECT_EQ(ops_of(load_graph(mixed + ",loss-scaling=static")), ops_of(plain));
}

TEST(LossScaling, ComesBeforeClipping) {
  const OpGraph graph =
      load_graph(kNetwork + ",dtype=float16,loss-scaling=dynamic,clip=true,recompute=conv*");
  EXPECT_THAT(inputs_of(graph, kUpdate + "/norm"), ElementsAre(kUpdate + "/unscale:0"));
  EXPECT_THAT(inputs_of(graph, kUpdate + "/clip"),
              ElementsAre(kUpdate + "/unscale:0", "clip_factor:0"));
  expect_updates_wait(graph, "clip_factor", kVariables);
  expect_updates_wait(graph, "found_inf", kVariables);
}

TEST(LossScaling, IsThatOfFloat16) {
  for (const std::string type : {"float32", "bfloat16"}) {
    EXPECT_EQ(
        test::error_of(
            ErrorCode::kUsage,
            [&] { load_graph(fmt::format("{},loss-scaling=dynamic,dtype={}", kNetwork, type)); }),
        "graph vgg-16: loss-scaling=dynamic needs dtype=float16");
  }
}

// Once for each replica, on what all micro-batches and replicas have added up.
TEST(GradientScaling, TakesTheGradientsOfTheWholeBatch) {
  const std::string parts = kNetwork + ",dtype=float16,micro-batches=4,replicas=2";
  const OpGraph plain = load_graph(parts);
  const OpGraph graph = load_graph(parts + ",clip=true,loss-scaling=dynamic");
  EXPECT_EQ(num_ops(graph), num_ops(plain) + 2 * (3 * kVariables + 2));
  EXPECT_EQ(totals(graph).flops,
            totals(plain).flops + 2 * (5 * kParameters + 2 * kGradients + 3 + kGradients - 1));
  expect_updates_wait(graph, "clip_factor", kVariables);
  expect_updates_wait(graph, "found_inf", kVariables);
  EXPECT_THAT(inputs_of(graph, kUpdate + "@1/unscale")[0],
              HasSubstr("all_reduce/bucket_0/unflatten@1:"));
  EXPECT_EQ(find(graph, "clip_factor@1").scope, "replica_1");
  const OpGraph accumulated = load_graph(kNetwork + ",micro-batches=4,clip=true");
  EXPECT_THAT(inputs_of(accumulated, kUpdate + "/norm"),
              ElementsAre(kGradient + "/accumulate#3:0"));
  EXPECT_EQ(count_kinds(accumulated)["clip_factor"], 1);
}

TEST(GradientScaling, IsInEachOfSeveralSteps) {
  const OpGraph steps = repeated_steps(load_graph(kNetwork + ",clip=true"), 3, 1);
  EXPECT_EQ(count_kinds(steps)["clip_factor"], 3);
  EXPECT_EQ(all_before(steps, "clip_factor~1").count("clip_factor"), 1);
}

// Inference has no gradients; of a table, only the rows that were looked up have one.
TEST(GradientScaling, LeavesOtherNumbersAlone) {
  EXPECT_EQ(ops_of(load_graph(kNetwork + ",training=false,clip=true")),
            ops_of(load_graph(kNetwork + ",training=false")));
  const OpGraph graph = load_graph("dlrm:batch=64,clip=true");
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    if (graph[op].kind == "reduce_l2") {
      EXPECT_EQ(graph[op].outputs[0].type, DataType::kFloat32) << graph[op].name;
    }
  }
}

TEST(GradientScaling, OfAFileIsThatOfTheNetwork) {
  const TemporaryFolder folder;
  const std::string path = folder.path("step.json");
  write_text_file(path, write_graph_json(load_graph(kNetwork)));
  EXPECT_EQ(ops_of(load_graph(path + ":clip=true")), ops_of(load_graph(kNetwork + ",clip=true")));
  EXPECT_EQ(ops_of(load_graph(path + ":clip=true,micro-batches=2")),
            ops_of(load_graph("vgg-16:batch=16,clip=true,micro-batches=2")));
  write_text_file(path, write_graph_json(load_graph(kNetwork + ",clip=true")));
  EXPECT_THAT(test::error_of([&] { load_graph(path + ":clip=true"); }),
              HasSubstr("the step scales its gradients already"));
  EXPECT_THAT(test::error_of([&] { load_graph(path + ":replicas=2"); }),
              HasSubstr("the step scales its gradients already"));
  write_text_file(path, write_graph_json(load_graph(kNetwork + ",training=false")));
  EXPECT_THAT(test::error_of([&] { load_graph(path + ":clip=true"); }),
              HasSubstr("no update reads a gradient, so there is none to scale"));
}

// Models of files have the parameters of built-in networks.
TEST(GradientScaling, OfModelsOfPyTorchAndOnnx) {
  for (const std::string file : {"torch_attention.json", "resnet18.onnx"}) {
    const std::string path = test::source_path("tests/graphs/data/" + file);
    const std::string options =
        file.ends_with("onnx") ? ":batch=4,training=true" : ":training=true";
    const OpGraph plain = load_graph(path + options);
    const OpGraph clipped = load_graph(path + options + ",clip=true");
    const int updates = count_kinds(plain)["optimizer_update"];
    EXPECT_EQ(num_ops(clipped), num_ops(plain) + 2 * updates + 1) << file;
    const OpGraph mixed =
        load_graph(path + options + ",dtype=float16,loss-scaling=dynamic,micro-batches=2");
    EXPECT_EQ(count_kinds(mixed)["unscale"], updates) << file;
    EXPECT_EQ(find(mixed, "loss_scale").kind, "add_losses");
  }
}

class GradientScalingOfModel : public testing::TestWithParam<std::string> {};

TEST_P(GradientScalingOfModel, ReadsEachGradient) {
  const std::string member = GraphCatalog::global().find(GetParam()).is_family ? ",member=0" : "";
  const std::string name = GetParam() + ":batch=2" + member;
  const OpGraph plain = load_graph(name);
  const OpGraph clipped = load_graph(name + ",clip=true");
  EXPECT_EQ(num_ops(clipped), num_ops(plain) + 2 * count_kinds(plain)["optimizer_update"] + 1);
}

INSTANTIATE_TEST_SUITE_P(Zoo, GradientScalingOfModel, testing::ValuesIn(test::models_with("clip")),
                         test::kNamedByParameter);

}  // namespace
}  // namespace emplace::gradient_scaling_test
