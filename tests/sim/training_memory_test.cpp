// What a training step keeps, against closed forms; which published steps fit on their devices.

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace emplace::training_memory_test {
namespace {

// Compiles a graph for one device of a profile.
Problem on_one_device(const std::string& graph, const std::string& profile) {
  auto ops = std::make_shared<const OpGraph>(load_graph(graph));
  auto cluster = std::make_shared<Cluster>();
  cluster->name = "one";
  cluster->transfer_model = TransferModel::kPhysical;
  cluster->profiles.push_back(load_device_profile(profile));
  cluster->devices.push_back({.name = "gpu:0", .profile = 0});
  cluster->topology = Topology(1, {});
  Grouping grouping = ungrouped(*ops);
  return Problem(std::move(ops), std::move(grouping), std::move(cluster));
}

// The bytes of tensors that are there when the backward pass begins, of ops whose scope begins so.
std::int64_t stored_bytes(const std::string& graph, std::string_view scope = "") {
  const Problem problem = on_one_device(graph, "h200");
  const StepRecord record = Simulator(problem).record(Placement(problem.num_groups()));
  double begin_us = std::numeric_limits<double>::infinity();
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    if (problem.op(op).phase == Phase::kBackward) {
      begin_us = std::min(begin_us, record.start_us[op]);
    }
  }
  std::int64_t sum = 0;
  for (const Allocation& allocation : record.allocations) {
    if (allocation.from_us < begin_us && allocation.until_us > begin_us &&
        problem.op(allocation.op).scope.starts_with(scope)) {
      sum += allocation.bytes;
    }
  }
  return sum;
}

// VGG-16 keeps the image, the result of each ReLU (of the 13 convolutions written over what was
// added to their bias), of each pooling, of ReLU and dropout of two dense layers with a byte for
// each element dropped or not, the probabilities and the label.
TEST(TrainingMemory, OfVgg16IsItsReluResults) {
  std::int64_t floats = 3 * 224 * 224 + 1000;
  std::int64_t side = 224;
  struct Stage {
    std::int64_t convolutions;
    std::int64_t channels;
  };
  for (const auto& [convolutions, channels] :
       {Stage{2, 64}, Stage{2, 128}, Stage{3, 256}, Stage{3, 512}, Stage{3, 512}}) {
    floats += convolutions * channels * side * side;
    side /= 2;
    floats += channels * side * side;
  }
  floats += 2 * (4096 + 4096);
  const std::int64_t of_image = 4 * floats + 2 * 4096 + 4;
  EXPECT_EQ(of_image, 60'991'396);
  EXPECT_EQ(stored_bytes("vgg-16:batch=1"), of_image);
  EXPECT_EQ(stored_bytes("vgg-16:batch=8"), 8 * of_image);
}

// ResNet-50 keeps what each of its 53 convolutions made, which batch norm's gradient reads, and
// what each of its 49 ReLUs did; and of each batch norm the mean and deviation of the channels.
TEST(TrainingMemory, OfResnet50IsConvolutionsAndReluResults) {
  std::int64_t floats = 3 * 224 * 224 + 2 * 64 * 112 * 112 + 64 * 56 * 56 + 2048 + 1000;
  std::int64_t channels = 64;
  std::int64_t before = 56;
  std::int64_t width = 64;
  for (const std::int64_t blocks : {3, 4, 6, 3}) {
    const std::int64_t side = width == 64 ? 56 : before / 2;
    for (std::int64_t block = 0; block < blocks; ++block) {
      floats += 2 * width * before * before;  // 1x1 down, and its ReLU
      floats += 2 * width * side * side;      // 3x3, which has the stride, and its ReLU
      floats += 2 * 4 * width * side * side;  // 1x1 up, and the block's ReLU
      channels += width + width + 4 * width;
      if (block == 0) {
        floats += 4 * width * side * side;  // the shortcut's 1x1
        channels += 4 * width;
      }
      before = side;
    }
    width *= 2;
  }
  const std::int64_t of_image = 4 * floats + 4;
  const std::int64_t of_batch = 4 * 2 * channels;
  EXPECT_EQ(channels, 26'560);
  EXPECT_EQ(stored_bytes("resnet-50:batch=1"), of_image + of_batch);
  EXPECT_EQ(stored_bytes("resnet-50:batch=4"), 4 * of_image + of_batch);
}

// Korthikanti et al. 2022 (arXiv 2205.05198), equation 1: a layer keeps s b h (34 + 5 a s / h)
// bytes in 16 bits, with s tokens, b sequences, width h and a heads. Here layer norm also keeps
// mean and deviation of each row, in float32, twice.
TEST(TrainingMemory, OfATransformerLayerIsKorthikantisFormula) {
  constexpr std::int64_t s = 64;
  constexpr std::int64_t b = 2;
  constexpr std::int64_t h = 768;
  constexpr std::int64_t a = 12;
  EXPECT_EQ(stored_bytes("gpt2-small:sequence=64,batch=2,type=bfloat16", "layer_5"),
            34 * s * b * h + 5 * a * s * s * b + 2 * 2 * 4 * s * b);
}

// In mixed precision, activations take half as much; beside them there are 16-bit copies of the
// weights.
TEST(TrainingMemory, InMixedPrecisionIsHalfOfTheActivations) {
  const auto full = static_cast<double>(stored_bytes("resnet-50:batch=64"));
  const auto mixed = static_cast<double>(stored_bytes("resnet-50:batch=64,dtype=float16"));
  EXPECT_NEAR(mixed, full / 2 + 2 * 25'557'032, 0.001 * full);
}

struct PublishedStep {
  const char* graph;
  const char* profile;
};

bool fits(const PublishedStep& step) {
  const Problem problem = on_one_device(step.graph, step.profile);
  Simulator simulator(problem);
  return simulator.run(Placement(problem.num_groups())).status == StepStatus::kOk;
}

// Steps that were measured: TensorFlow's benchmarks (tensorflow/docs, r1), NVIDIA's
// DeepLearningExamples, u39kun/deep-learning-benchmark. Batches that were chosen to fill a GPU:
// lambdal/deeplearning-benchmark, pytorch-train-bs-fp32.csv and pytorch-train-bs-fp16.csv, of a
// V100 with 16 GB, an A100 with 40 GB and an H100 with 80 GB.
constexpr PublishedStep kPublishedSteps[] = {
    {"inception-v3:batch=64,optimizer=sgd", "k80"},
    {"resnet-50:batch=64,optimizer=sgd", "k80"},
    {"resnet-152:batch=32,optimizer=sgd", "k80"},
    {"vgg-16:batch=32,optimizer=sgd", "k80"},
    {"inception-v3:batch=64,optimizer=sgd", "p100"},
    {"resnet-50:batch=64,optimizer=sgd", "p100"},
    {"resnet-152:batch=64,optimizer=sgd", "p100"},
    {"vgg-16:batch=64,optimizer=sgd", "p100"},
    {"resnet-152:batch=16,optimizer=sgd", "v100"},
    {"vgg-16:batch=16,optimizer=sgd", "v100"},
    {"resnet-50:batch=256,optimizer=momentum", "a100"},
    {"resnet-50:batch=128,optimizer=momentum", "v100"},
    {"resnet-50:batch=256,optimizer=momentum,dtype=float16", "v100"},
    {"bert-base:batch=24,sequence=384", "v100"},
    {"bert-base:batch=48,sequence=384,dtype=float16", "v100"},
    {"bert-large:batch=8,sequence=384", "v100"},
    {"bert-large:batch=16,sequence=384,dtype=float16", "v100"},
    {"resnet-50:batch=360,optimizer=momentum", "a100"},
    {"resnet-50:batch=720,optimizer=momentum,dtype=float16", "a100"},
    {"bert-base:batch=80,sequence=384", "a100"},
    {"bert-base:batch=160,sequence=384,dtype=float16", "a100"},
    {"bert-large:batch=28,sequence=384", "a100"},
    {"bert-large:batch=48,sequence=384,dtype=float16", "a100"},
    {"resnet-50:batch=640,optimizer=momentum", "h100"},
    {"resnet-50:batch=1280,optimizer=momentum,dtype=float16", "h100"},
    {"bert-base:batch=172,sequence=384", "h100"},
    {"bert-base:batch=320,sequence=384,dtype=float16", "h100"},
    {"bert-large:batch=64,sequence=384", "h100"},
    {"bert-large:batch=112,sequence=384,dtype=float16", "h100"},
};

TEST(TrainingMemory, StepsThatRanFit) {
  for (const PublishedStep& step : kPublishedSteps) {
    EXPECT_TRUE(fits(step)) << step.graph << " on " << step.profile;
  }
}

// What is twice as large as what was chosen to fill a GPU in float32 does not.
TEST(TrainingMemory, TwiceTheFillingBatchDoesNotFit) {
  for (const PublishedStep& step : {PublishedStep{"resnet-50:batch=256,optimizer=momentum", "v100"},
                                    PublishedStep{"bert-base:batch=48,sequence=384", "v100"},
                                    PublishedStep{"bert-large:batch=16,sequence=384", "v100"},
                                    PublishedStep{"bert-base:batch=160,sequence=384", "a100"},
                                    PublishedStep{"bert-large:batch=56,sequence=384", "a100"}}) {
    EXPECT_FALSE(fits(step)) << step.graph << " on " << step.profile;
  }
}

}  // namespace
}  // namespace emplace::training_memory_test
