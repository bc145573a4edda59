// Python source that places a PyTorch model with torch.fx: devices by module, and the functions of
// torch_fx.py, which are the same in all files. torch.fx may cut any edge, so only a module with
// its parameters must have one device, and modules that share one; of a module that calls others,
// what it computes itself. What autograd computes runs where its forward op ran.

#include "colocation.hpp"
#include "formats.hpp"
#include "module_tree.hpp"
#include "shared_weights.hpp"

#include <emplace/base/embedded.hpp>
#include <emplace/base/json.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace emplace::embedded {
// From this folder, by emplace_embed() in CMakeLists.txt.
std::span<const Document> torch_fx();
}  // namespace emplace::embedded

namespace emplace::bench {
namespace {

constexpr const char* kHead =
    R"py("""Places a PyTorch model on several devices; `emplace convert` wrote this file.

    import placed                # whatever this file is called
    model = placed.place(model)  # a torch.fx.GraphModule; print(model.code) shows what moves where

"""

)py";

// A module of which something is computed, and when that begins in the step.
struct PlacedModule {
  std::string path;
  DeviceId device;
  double start_us;
};

}  // namespace

PlacementExport write_torch_fx(const Problem& problem, const Placement& placement) {
  expect_no_replicas(problem);
  const ModuleTree tree(problem, "torch-fx");
  Colocation colocation(problem, placement);
  SharedWeights shared(problem, tree);
  for (ModuleId module = 0; module < tree.modules().end_id(); ++module) {
    const Module& present = tree.modules()[module];
    colocation.colocate(present.is_leaf() ? shared.tied_ops(module) : present.ops);
  }
  // A module that only holds weights for another, as attention has one, goes with that.
  for (const SharedWeight& weight : shared.weights()) {
    const std::vector<OpId>& held = tree.modules()[tree.module_of(weight.variable)].ops;
    if (std::ranges::none_of(held, [&](OpId op) { return is_call(problem, op); })) {
      for (const OpId op : held) {
        colocation.move(op, colocation.device_of(weight.readers.front()));
      }
    }
  }
  colocation.try_one_device();
  PlacementExport result{.colocated = shared.changes(colocation)};
  for (const Module& module : tree.modules()) {
    if (auto change = colocation.change_of(module.path, module.ops)) {
      result.colocated.push_back(std::move(*change));
    }
  }
  result.placement = colocation.placement();

  const StepRecord record = Simulator(problem).record(result.placement);
  std::vector<PlacedModule> placed;
  for (const Module& module : tree.modules()) {
    for (const OpId op : module.ops) {
      if (!is_call(problem, op) || problem.op(op).kind == "input") {
        continue;
      }
      if (placed.empty() || placed.back().path != module.path) {
        placed.push_back(
            {module.path, result.placement[problem.grouping().group_of(op)], record.start_us[op]});
      }
      placed.back().start_us = std::min(placed.back().start_us, record.start_us[op]);
    }
  }

  result.text = kHead;
  fmt::format_to(std::back_inserter(result.text),
                 "# Of {} on {}. Of a module that calls others: the device of what it computes "
                 "itself.\nDEVICES = {{\n",
                 json_text(problem.graph()[boost::graph_bundle].name),
                 json_text(problem.cluster().name));
  for (const PlacedModule& module : placed) {
    fmt::format_to(std::back_inserter(result.text), "    {}: {},\n", json_text(module.path),
                   json_text(torch_device(problem.device(module.device).name)));
  }
  result.text += "}\n\n# In which order modules run, where the placement has one.\nORDER = {";
  if (placement.has_priorities()) {
    std::ranges::stable_sort(placed, {}, &PlacedModule::start_us);
    for (std::size_t place = 0; place < placed.size(); ++place) {
      fmt::format_to(std::back_inserter(result.text), "\n    {}: {},",
                     json_text(placed[place].path), place);
    }
    result.text += "\n";
  }
  result.text += "}\n\n";
  for (const embedded::Document& source : embedded::torch_fx()) {
    result.text += source.text;
  }
  return result;
}

}  // namespace emplace::bench
