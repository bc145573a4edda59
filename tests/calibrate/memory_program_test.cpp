// Ops that memory bounds: how they are said to access it, and what they do to words on the CPU.

#include <emplace/calibrate/cpu_device.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <profiles/calibrate/src/memory_site.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::calibrate::memory_program_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

using Bytes = std::vector<std::uint8_t>;

Output tensor(std::vector<std::int64_t> shape, DataType type = DataType::kFloat32) {
  const std::int64_t elements =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return {.shape = std::move(shape), .type = type, .bytes = elements * size_of(type)};
}

OpSite site(const char* kind, std::vector<Output> inputs, std::vector<Output> outputs) {
  return {.op = {.name = "op", .kind = kind, .outputs = std::move(outputs)},
          .inputs = std::move(inputs)};
}

// Bytes that do not repeat, so that one in a wrong place is found.
Bytes numbered(std::int64_t count, std::uint32_t seed) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] =
        static_cast<std::uint8_t>(row_at(static_cast<std::int64_t>(seed + 7919 * i), 255) + 1);
  }
  return bytes;
}

Bytes operator^(Bytes a, const Bytes& b) {
  std::ranges::transform(a, b, a.begin(), std::bit_xor<>());
  return a;
}

// What a run leaves in inputs, outputs and state.
struct Tensors {
  std::vector<Bytes> inputs{};
  std::vector<Bytes> outputs{};
  Bytes state{};
};

// Runs a site on the first cores; inputs are numbered by their index, the state by 99. All bytes of
// outputs are `before` before.
Tensors run(const OpSite& site, std::size_t cores = 1, std::uint8_t before = 0xff) {
  const std::vector<int> usable = usable_cores();
  const auto device = make_cpu_device("cpu:0", std::span(usable).first(cores));
  const auto program = device->compile(site);
  if (program == nullptr) {
    ADD_FAILURE() << site.op.kind << " is not run";
    return {};
  }
  EXPECT_EQ(program->library(), "generic");
  Tensors tensors{.state = numbered(site.op.persistent_bytes, 99)};
  OpBuffers buffers{.state = tensors.state.data()};
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    tensors.inputs.push_back(numbered(site.inputs[i].bytes, static_cast<std::uint32_t>(i)));
  }
  for (const Output& output : site.op.outputs) {
    tensors.outputs.emplace_back(static_cast<std::size_t>(output.bytes), before);
  }
  for (const Bytes& input : tensors.inputs) {
    buffers.inputs.push_back(input.data());
  }
  for (Bytes& output : tensors.outputs) {
    buffers.outputs.push_back(output.data());
  }
  const auto queue = device->make_queue();
  queue->run(*program, buffers);
  queue->finish();
  return tensors;
}

TEST(MemorySite, TellsThePatternByTheClassOfTheOp) {
  using enum AccessPattern;
  for (const char* kind : {"add", "gelu_backward", "max_pool", "optimizer_update", "concat"}) {
    EXPECT_THAT(access_pattern_of(kind), Optional(kMap)) << kind;
  }
  for (const char* kind : {"layer_norm", "batch_norm_backward", "softmax", "reduce_sum", "top_k"}) {
    EXPECT_THAT(access_pattern_of(kind), Optional(kRows)) << kind;
  }
  for (const char* kind : {"embedding", "gather", "moe_dispatch"}) {
    EXPECT_THAT(access_pattern_of(kind), Optional(kGather)) << kind;
  }
  for (const char* kind : {"embedding_backward", "gather_backward", "moe_dispatch_backward"}) {
    EXPECT_THAT(access_pattern_of(kind), Optional(kScatter)) << kind;
  }
  for (const char* kind : {"matmul", "attention", "lstm_cell", "conv2d", "depthwise_conv2d", "task",
                           "fourier_transform", "reshape", "variable"}) {
    EXPECT_EQ(access_pattern_of(kind), std::nullopt) << kind;
  }
}

TEST(MemorySite, MovesAsManyBytesAsTheOpCounts) {
  std::vector<OpGraph> graphs;
  for (const char* spec : {"inception-v3:batch=1", "bert-base:batch=1,sequence=32", "dlrm"}) {
    graphs.push_back(GraphCatalog::global().build(Spec::parse(spec)));
  }
  const auto moved = [](const Streams& streams, std::size_t first, std::size_t end) {
    return std::accumulate(
        streams.all.begin() + first, streams.all.begin() + end, std::int64_t{0},
        [](std::int64_t sum, const Stream& stream) { return sum + stream.bytes; });
  };
  for (const OpSite& each : distinct_sites(graphs)) {
    const auto found = memory_site(each);
    if (!found) {
      continue;
    }
    SCOPED_TRACE(each.op.name + " of kind " + each.op.kind);
    const auto& streams = found->streams;
    const std::int64_t written = moved(streams, streams.num_read, streams.count);
    std::int64_t read = found->passes * moved(streams, 0, streams.num_read);
    if (found->pattern == AccessPattern::kGather) {  // the rows that are looked up, and the ids
      read = found->lookups * written + streams.all[1].bytes;
    } else if (found->pattern == AccessPattern::kScatter) {  // also what is added to
      read += streams.all[0].bytes;
    }
    // Few bytes are read once where most are read twice.
    const double difference = found->passes == 1 ? 0 : 0.05;
    EXPECT_NEAR(static_cast<double>(read), static_cast<double>(each.op.bytes_read),
                difference * static_cast<double>(each.op.bytes_read));
    if (found->pattern != AccessPattern::kScatter) {
      EXPECT_EQ(written, each.op.bytes_written);
    }
  }
}

TEST(MemorySite, HasNoProgramForMoreTensorsThanAKernelTakes) {
  const Output x = tensor({4});
  EXPECT_TRUE(memory_site(site("concat", std::vector(kMaxStreams - 3, x), {x})));
  EXPECT_FALSE(memory_site(site("concat", std::vector(kMaxStreams, x), {x})));
}

// 40 kB are three parts.
TEST(MemoryProgram, MapsTwoInputsToTheirXor) {
  const Output x = tensor({10'001});
  const auto [inputs, outputs, state] = run(site("add", {x, x}, {x}));
  EXPECT_EQ(outputs[0], inputs[0] ^ inputs[1]);
}

TEST(MemoryProgram, MapsWordsOfAnyType) {
  for (const DataType type : {DataType::kFloat16, DataType::kBool, DataType::kInt64}) {
    for (const std::int64_t elements : {1, 3, 17, 20'011}) {
      const Output x = tensor({elements}, type);
      const auto [inputs, outputs, state] = run(site("relu", {x}, {x}));
      EXPECT_EQ(outputs[0], inputs[0]) << elements << " of " << to_string(type);
    }
  }
}

// With each part of the large tensor goes a part of the small one: with one of three, 144 bytes.
TEST(MemoryProgram, WalksTensorsOfDifferentSizesTogether) {
  const OpSite split = site("split", {tensor({10'000})}, {tensor({100}), tensor({9900})});
  const auto [inputs, outputs, state] = run(split);
  for (std::size_t part = 0; part < 3; ++part) {
    const std::size_t from = 13'344 * part;
    const std::size_t to = 144 * part;
    const std::size_t bytes = std::min<std::size_t>(144, 400 - to);
    EXPECT_EQ(Bytes(&outputs[0][to], &outputs[0][to] + bytes),
              Bytes(&inputs[0][from], &inputs[0][from] + bytes));
  }
  EXPECT_EQ(run(split, 1, 0).outputs, outputs) << "a byte was not written";
  const OpSite joined = site("concat", {tensor({100}), tensor({9900})}, {tensor({10'000})});
  EXPECT_EQ(run(joined, 1, 0).outputs, run(joined).outputs) << "a byte was not written";
}

TEST(MemoryProgram, WritesZerosWhereNothingIsRead) {
  const auto ran = run(site("zeros", {}, {tensor({4099}, DataType::kBool)}));
  EXPECT_THAT(ran.outputs[0], Each(Eq(0)));
}

// Rows of 4 kB: each word of 16 bytes has the XOR of all words of its row on top.
TEST(MemoryProgram, ReducesEachRowBeforeItWritesIt) {
  const Output x = tensor({3, 1024});
  const auto [inputs, outputs, state] = run(site("softmax", {x}, {x}));
  Bytes expected = inputs[0];
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 4096; ++i) {
      for (std::size_t word = 0; word < 256; ++word) {
        expected[4096 * row + i] ^= inputs[0][4096 * row + 16 * word + i % 16];
      }
    }
  }
  EXPECT_EQ(outputs[0], expected);
}

TEST(MemoryProgram, ReducesToFewNumbers) {
  const auto ran = run(site("reduce_sum", {tensor({1, 40})}, {tensor({1})}));
  Bytes sum(4);
  for (std::size_t i = 0; i < 160; i += 16) {
    sum = std::move(sum) ^ Bytes(&ran.inputs[0][i], &ran.inputs[0][i] + 4);
  }
  EXPECT_EQ(ran.outputs[0], sum ^ Bytes(&ran.inputs[0][0], &ran.inputs[0][4]));
}

TEST(MemoryProgram, GathersOnlyRowsThatExist) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
    const auto [inputs, outputs, state] =
        run(site("embedding", {tensor({5, 6}, type), tensor({999}, DataType::kInt32)},
                 {tensor({999, 6}, type)}));
    const std::size_t width = 6 * static_cast<std::size_t>(size_of(type));
    const auto rows_of = [&](const Bytes& bytes) {
      std::vector<Bytes> rows;
      for (std::size_t i = 0; i < bytes.size(); i += width) {
        rows.emplace_back(&bytes[i], &bytes[i] + width);
      }
      return std::set(rows.begin(), rows.end());
    };
    EXPECT_EQ(rows_of(outputs[0]), rows_of(inputs[0]));
  }
}

TEST(MemoryProgram, CombinesTheRowsOfABag) {
  OpSite bags =
      site("embedding_bag", {tensor({50, 4}), tensor({7, 3}, DataType::kInt64)}, {tensor({7, 4})});
  bags.op.bytes_read = 7 * 3 * (16 + 8);
  const auto [inputs, outputs, state] = run(bags);
  const auto row_of = [](const Bytes& bytes, std::int64_t row) {
    return Bytes(&bytes[0] + 16 * row, &bytes[0] + 16 * (row + 1));
  };
  for (std::int64_t bag = 0; bag < 7; ++bag) {
    Bytes sum(16);
    for (std::int64_t i = 3 * bag; i < 3 * bag + 3; ++i) {
      sum = std::move(sum) ^ row_of(inputs[0], row_at(i, 50));
    }
    EXPECT_EQ(row_of(outputs[0], bag), sum) << bag;
  }
}

std::uint32_t sum_of_words(const Bytes& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, &bytes[i], std::min<std::size_t>(4, bytes.size() - i));
    sum += word;
  }
  return sum;
}

TEST(MemoryProgram, ScattersWithoutLosingAnything) {
  const auto [inputs, outputs, state] =
      run(site("embedding_backward", {tensor({3001, 6}), tensor({3001}, DataType::kInt32)},
               {tensor({77, 6})}));
  EXPECT_EQ(sum_of_words(outputs[0]), sum_of_words(inputs[0]) + sum_of_words(inputs[1]));
}

TEST(MemoryProgram, UpdatesVariableAndSlots) {
  const Output x = tensor({5000});
  OpSite update = site("optimizer_update", {x, x}, {});
  update.op.persistent_bytes = 2 * x.bytes;
  const auto [inputs, outputs, state] = run(update);
  const Bytes gradient = numbered(x.bytes, 0);
  const Bytes slots = numbered(2 * x.bytes, 99);
  EXPECT_EQ(inputs[0], gradient);
  EXPECT_NE(state, slots);
  // The first of three parts has 6672 bytes of the variable.
  const auto first = [](const Bytes& bytes) { return Bytes(&bytes[0], &bytes[6672]); };
  EXPECT_EQ(first(inputs[1]), first(gradient) ^ (first(numbered(x.bytes, 1)) ^ first(slots)));
  EXPECT_EQ(first(state), first(inputs[1]));
}

TEST(MemoryProgram, ActsOnEmptyTensors) {
  const Output none = tensor({0, 4});
  for (const char* kind : {"add", "softmax", "gather", "gather_backward"}) {
    EXPECT_THAT(run(site(kind, {none, none}, {none})).outputs, ElementsAre(Bytes())) << kind;
  }
  const auto ran = run(site("gather", {none}, {tensor({3, 4})}));
  EXPECT_THAT(ran.outputs[0], Each(Eq(0)));
}

// All kinds that networks have and that no library runs, of tensors that are no multiple of words.
TEST(MemoryProgram, GivesTheSameOnOneCoreAndOnTwo) {
  const bool has_two = usable_cores().size() > 1;
  int kinds = 0;
  for (const OpKind& kind : op_kinds()) {
    if (access_pattern_of(kind.name)) {
      const std::string name(kind.name);
      OpSite each = site(name.c_str(), {tensor({301, 53}), tensor({301}, DataType::kInt32)},
                         {tensor({301, 53}), tensor({17}, DataType::kBool)});
      each.op.persistent_bytes = 1001;
      const auto one = run(each);
      const auto two = run(each, has_two ? 2 : 1);
      EXPECT_EQ(one.outputs, two.outputs) << name;
      EXPECT_EQ(one.state, two.state) << name;
      EXPECT_EQ(one.inputs, two.inputs) << name;
      ++kinds;
    }
  }
  EXPECT_GT(kinds, 40);
}

TEST(MemoryProgram, IsThereForNoKindThatALibraryOrNothingRuns) {
  const std::vector<int> usable = usable_cores();
  const auto device = make_cpu_device("cpu:0", std::span(usable).first(1));
  const Output four = tensor({4});
  for (const char* kind : {"conv2d", "matmul", "lstm_cell", "task", "fourier_transform"}) {
    EXPECT_EQ(device->compile(site(kind, {four}, {four})), nullptr) << kind;
  }
}

}  // namespace
}  // namespace emplace::calibrate::memory_program_test
