// Every kernel and library call on the GPU against the CPU's, on the same random numbers.

#include "device_pair.hpp"

#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <calibrate/every_kind.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace emplace::calibrate {
namespace {

// What a site costs the CPU, roughly: plain loops do a FLOP or move a byte in about a nanosecond.
std::int64_t cost(const OpSite& site) {
  return site.op.flops + site.op.bytes_read + site.op.bytes_written;
}

using SitesByKind = std::map<std::string, std::vector<OpSite>>;

// Sites of what emplace ships, cheapest first; none that takes the CPU minutes.
SitesByKind collect(const std::vector<OpGraph>& graphs) {
  SitesByKind by_kind;
  for (OpSite& site : distinct_sites(graphs)) {
    by_kind[site.op.kind].push_back(std::move(site));
  }
  for (auto& [kind, found] : by_kind) {
    std::ranges::stable_sort(found, {}, cost);
    const auto dear =
        std::ranges::find_if(found, [](const OpSite& site) { return cost(site) > 2'000'000'000; });
    found.erase(found.size() > 1 && dear == found.begin() ? dear + 1 : dear, found.end());
  }
  return by_kind;
}

// Convolutions and cells are in no shipped graph of bfloat16.
void add_halved(const SitesByKind& from, SitesByKind& to) {
  const auto halve = [](Output& value) {
    value.type = DataType::kBfloat16;
    value.bytes /= 2;
  };
  for (const auto& [kind, all] : from) {
    if (kind.starts_with("conv2d") || kind.starts_with("lstm")) {
      for (OpSite site : all) {
        std::ranges::for_each(site.inputs, halve);
        std::ranges::for_each(site.op.outputs, halve);
        to[kind].push_back(std::move(site));
      }
    }
  }
}

const SitesByKind& sites(DataType type) {
  static const auto float32 = collect(graphs_of_every_kind());
  static const auto bfloat16 = [] {
    const auto build = [](const char* spec) {
      return GraphCatalog::global().build(Spec::parse(spec));
    };
    auto found = collect(
        {build("gpt2-small:type=bfloat16"), build("llama-7b:type=bfloat16,training=false")});
    add_halved(float32, found);
    return found;
  }();
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
  EXPECT_LT(relative_error(DataType::kFloat32, found.back(), expected.back()), tolerance)
      << "state";
}

class GpuOps : public testing::TestWithParam<std::string> {
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

std::vector<std::string> kinds_that_run() {
  std::vector<std::string> kinds;
  for (const OpKind& kind : op_kinds()) {
    if (kind.launches && kind.name != "task") {
      kinds.emplace_back(kind.name);
    }
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuOps, testing::ValuesIn(kinds_that_run()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace emplace::calibrate
