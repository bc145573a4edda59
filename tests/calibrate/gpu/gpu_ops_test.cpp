// Products and convolutions of libraries on the GPU near the CPU's, and what moves memory the same,
// on the same random numbers.

#include "device_pair.hpp"

#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <profiles/calibrate/src/memory_site.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace emplace::calibrate {
namespace {

constexpr std::array kLibraryKinds = {"batch_matmul",           "conv2d", "conv2d_backward_data",
                                      "conv2d_backward_filter", "matmul", "conv2d_transpose"};

// What a site costs the CPU, roughly: plain loops do a FLOP or move a byte in about a nanosecond.
std::int64_t cost(const OpSite& site) {
  return site.op.flops + site.op.bytes_read + site.op.bytes_written;
}

using SitesByKind = std::map<std::string, std::vector<OpSite>>;

// Sites of what emplace ships, cheapest first; none that takes the CPU minutes.
SitesByKind collect(const std::vector<OpGraph>& graphs) {
  SitesByKind by_kind;
  for (OpSite& site : distinct_sites(graphs)) {
    if (std::ranges::count(kLibraryKinds, site.op.kind) > 0) {
      by_kind[site.op.kind].push_back(std::move(site));
    }
  }
  for (auto& [kind, found] : by_kind) {
    std::ranges::stable_sort(found, {}, cost);
    const auto dear =
        std::ranges::find_if(found, [](const OpSite& site) { return cost(site) > 2'000'000'000; });
    found.erase(found.size() > 1 && dear == found.begin() ? dear + 1 : dear, found.end());
  }
  return by_kind;
}

// The same in bfloat16.
SitesByKind halved(SitesByKind all) {
  for (auto& [kind, sites] : all) {
    for (OpSite& site : sites) {
      for (auto* tensors : {&site.inputs, &site.op.outputs}) {
        for (Output& tensor : *tensors) {
          tensor.type = DataType::kBfloat16;
          tensor.bytes /= 2;
        }
      }
    }
  }
  return all;
}

const SitesByKind& sites(DataType type) {
  static const auto float32 = [] {
    std::vector<OpGraph> graphs;
    for (const std::string& name : GraphCatalog::global().names()) {
      graphs.push_back(GraphCatalog::global().build(Spec::parse(name)));
    }
    return collect(graphs);
  }();
  static const auto bfloat16 = halved(float32);
  return type == DataType::kBfloat16 ? bfloat16 : float32;
}

void expect_same_as_cpu(ComputeDevice& gpu, const OpSite& site, double tolerance) {
  SCOPED_TRACE(fmt::format("{} [{}]", site.op.kind, fmt::join(site.op.shape, ", ")));
  const auto inputs = random_inputs(site);
  const auto expected = run_once(cpu(), site, inputs);
  const auto found = run_once(gpu, site, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < site.op.outputs.size(); ++i) {
    EXPECT_LT(relative_error(site.op.outputs[i].type, found[i], expected[i]), tolerance)
        << "output " << i;
  }
}

class GpuOps : public testing::TestWithParam<const char*> {
 protected:
  // The cheapest, the dearest and the one in the middle.
  static std::vector<OpSite> three_sites(DataType type) {
    const auto found = sites(type).find(GetParam());
    if (found == sites(type).end() || found->second.empty()) {
      return {};
    }
    const auto& all = found->second;
    return {all.front(), all[all.size() / 2], all.back()};
  }

  static void compare(CudaOptions options, DataType type, double tolerance) {
    const CudaDevices found = gpus(options);
    if (found.devices.empty()) {
      GTEST_SKIP() << found.missing;
    }
    for (const OpSite& site : three_sites(type)) {
      expect_same_as_cpu(*found.devices[0], site, tolerance);
    }
  }
};

TEST_P(GpuOps, EqualTheCpusInFloat32) { compare({.tf32 = false}, DataType::kFloat32, 1e-3); }

TEST_P(GpuOps, AreNearTheCpusInTf32) { compare({.tf32 = true}, DataType::kFloat32, 1e-2); }

TEST_P(GpuOps, AreNearTheCpusInBfloat16) { compare({}, DataType::kBfloat16, 1e-2); }

TEST_P(GpuOps, AreThereToBeCompared) { EXPECT_EQ(three_sites(DataType::kFloat32).size(), 3); }

INSTANTIATE_TEST_SUITE_P(Kinds, GpuOps, testing::ValuesIn(kLibraryKinds),
                         [](const auto& test) { return std::string(test.param); });

// Of each pattern, with parts, rows and tensors that end within a word.
TEST(GpuMemoryPrograms, LeaveTheSameBytesAsTheCpus) {
  const CudaDevices found = gpus();
  if (found.devices.empty()) {
    GTEST_SKIP() << found.missing;
  }
  const auto tensor = [](std::int64_t rows, std::int64_t columns, DataType type) {
    return Output{.shape = {rows, columns}, .type = type, .bytes = rows * columns * size_of(type)};
  };
  for (const OpKind& kind : op_kinds()) {
    if (!access_pattern_of(kind.name)) {
      continue;
    }
    for (const auto type : {DataType::kFloat32, DataType::kBfloat16, DataType::kBool}) {
      for (const std::int64_t columns : {1, 53, 1024, 5000}) {
        const Output x = tensor(301, columns, type);
        const OpSite site{
            .op = {.name = "op",
                   .kind = std::string(kind.name),
                   .shape = {301, columns},
                   .outputs = {x, tensor(17, 1, DataType::kBool)},
                   .persistent_bytes = kind.op_class == OpClass::kUpdate ? 2 * x.bytes : 1001},
            .inputs = {x, tensor(301, 1, DataType::kInt32)}};
        const auto inputs = random_inputs(site);
        EXPECT_EQ(run_once(*found.devices[0], site, inputs), run_once(cpu(), site, inputs))
            << kind.name << " of " << columns << " columns of " << to_string(type);
      }
    }
  }
}

}  // namespace
}  // namespace emplace::calibrate
