// A device map as Hugging Face Accelerate reads it: {"conv1": 0, "layer1.0": 1, "fc": "cpu"}. What
// enters a module of the map moves to its device. What a module that is not in the map computes
// itself runs where its inputs are, which must be one device. So a module with parameters has one
// device; the inputs of an op between modules are brought together; and gradients are computed
// where the forward pass was, as autograd does.

#include "formats.hpp"
#include "joins.hpp"
#include "module_tree.hpp"

#include <emplace/base/json.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// The device of a module with all that it calls, or one of these.
constexpr DeviceId kNone = -1;   // it computes nothing
constexpr DeviceId kSplit = -2;  // several

class DeviceMap {
 public:
  DeviceMap(const Problem& problem, const Placement& placement)
      : problem_(problem),
        tree_(problem, "torch-device-map"),
        joins_(problem, without_priorities(placement)),
        has_order_(placement.has_priorities()),
        device_(tree_.modules().size()),
        may_split_(tree_.modules().size(), true) {
    for (ModuleId module = 0; module < tree_.modules().end_id(); ++module) {
      const bool is_leaf = tree_.modules()[module].is_leaf();
      if (has_parameters(module)) {
        may_split_[module] = !is_leaf && has_paths_of_parameters(module);
      }
      const std::vector<OpId> ops = tree_.ops_within(module);
      // A leaf without parameters may follow its inputs if its calls are on several devices.
      if (!may_split_[module] || (is_leaf && joins_.devices_of(calls_of(module)).size() == 1)) {
        joins_.join(ops);
      }
    }
    settle();
    improve();
  }

  PlacementExport write() {
    PlacementExport result{.placement = joins_.placement()};
    Json map = Json::object();
    write(ModuleTree::kRoot, map, result);
    result.text = map.indented(2) + "\n";
    result.keeps_order = !has_order_;
    return result;
  }

 private:
  // PyTorch runs modules in the order in which the model calls them.
  static Placement without_priorities(Placement placement) {
    placement.set_priorities({});
    return placement;
  }

  bool has_parameters(ModuleId module) const {
    return std::ranges::any_of(tree_.modules()[module].ops,
                               [&](OpId op) { return problem_.op(op).kind == "variable"; });
  }

  // A map may name a parameter of a module by its path.
  bool has_paths_of_parameters(ModuleId module) const {
    const std::string& path = tree_.modules()[module].path;
    return std::ranges::all_of(tree_.modules()[module].ops, [&](OpId op) {
      return problem_.op(op).kind != "variable" || path.empty() ||
             problem_.op(op).name.starts_with(path + ".");
    });
  }

  bool is_call(OpId op) const {
    return problem_.op(op).phase == Phase::kForward && !is_stored(problem_, op);
  }

  std::vector<OpId> calls_of(ModuleId module) const {
    std::vector<OpId> calls;
    std::ranges::copy_if(tree_.modules()[module].ops, std::back_inserter(calls),
                         [&](OpId op) { return is_call(op); });
    return calls;
  }

  // Finds the device of each module by those of the modules in it; what such a module computes
  // itself runs there, too.
  void find_devices() {
    for (ModuleId module = tree_.modules().end_id(); module-- > 0;) {
      const Module& present = tree_.modules()[module];
      DeviceId& device = device_[module];
      device = kNone;
      const auto add = [&device](DeviceId other) {
        if (other != kNone) {
          device = device == kNone || device == other ? other : kSplit;
        }
      };
      for (const ModuleId child : present.children) {
        add(device_[child]);
      }
      if (device == kNone) {
        for (const OpId op : present.ops) {
          add(joins_.device_of(op));
        }
      } else if (device != kSplit) {
        for (const OpId op : present.ops) {
          joins_.move(op, device);
        }
      }
    }
  }

  bool follows(OpId op) const { return device_[tree_.module_of(op)] == kSplit; }

  // Returns the ops whose results a call reads.
  std::vector<OpId> inputs_of(OpId call) const {
    std::vector<OpId> inputs;
    for (const UseId input : problem_.inputs(call)) {
      const Problem::Use& use = problem_.uses()[input];
      if (use.output >= 0 && !is_stored(problem_, use.producer)) {
        inputs.push_back(use.producer);
      }
    }
    return inputs;
  }

  bool is_model_input(OpId op) const { return problem_.op(op).kind == "input"; }

  // What enters the model moves to the first device that computes.
  void move_model_inputs() {
    const auto order = problem_.topological_order();
    const auto first =
        std::ranges::find_if(order, [&](OpId op) { return is_call(op) && !is_model_input(op); });
    for (const OpId op : order) {
      if (first != order.end() && is_model_input(op) && follows(op)) {
        joins_.move(op, joins_.device_of(*first));
      }
    }
  }

  // Makes it a placement that a map can express.
  void settle() {
    for (std::size_t mended = 0; !settle_once(mended > tree_.modules().size()); ++mended) {
    }
  }

  // As long as the step is longer than it was, moves modules with all that they call, those that
  // call most first, where that makes it shorter: what was joined one by one may be better
  // together.
  void improve() {
    const Joins::Cost first = joins_.first_cost();
    Joins::Cost best = joins_.cost();
    for (ModuleId module = 0; module < tree_.modules().end_id(); ++module) {
      for (const DeviceId device : joins_.candidates()) {
        if (best <= first || joins_.has_tried_enough()) {
          return;
        }
        if (device_[module] == device || device_[module] == kNone) {
          continue;
        }
        const Placement before = joins_.placement();
        for (const OpId op : tree_.ops_within(module)) {
          joins_.move(op, device);
        }
        settle();
        const Joins::Cost cost = joins_.cost();
        if (cost < best) {
          best = cost;
        } else {
          joins_.restore(before);
          find_devices();
        }
      }
    }
  }

  // Moves what follows others to their devices. Returns false where it has to be called again: it
  // mended the first op whose inputs were on several devices, or brought modules together.
  bool settle_once(bool joins_modules) {
    find_devices();
    move_model_inputs();
    for (const OpId op : problem_.topological_order()) {
      if (!follows(op) || !is_call(op)) {
        continue;
      }
      const std::vector<DeviceId> devices = joins_.devices_of(inputs_of(op));
      if (devices.size() > 1) {
        mend(op, devices, joins_modules);
        return false;
      }
      if (devices.size() == 1) {
        joins_.move(op, devices.front());
      }
    }
    for (const OpId op : problem_.topological_order()) {
      if (follows(op) && !is_call(op)) {
        joins_.move(op, joins_.device_of(tree_.forward_of(op)));
      }
    }
    // What followed may have brought a module together.
    const Placement before = joins_.placement();
    find_devices();
    return joins_.placement() == before;
  }

  // Brings the inputs of an op to one of their devices, by moving the modules that compute them, or
  // puts the whole module in which they meet on one device.
  void mend(OpId op, const std::vector<DeviceId>& devices, bool joins_modules) {
    std::vector<Joins::Moves> choices;
    if (!joins_modules) {
      for (const DeviceId device : devices) {
        Joins::Moves moves;
        bool is_possible = true;
        for (const OpId input : inputs_of(op)) {
          is_possible = is_possible && (joins_.device_of(input) == device ||
                                        add_moves_of_sources(input, device, moves));
        }
        if (is_possible) {
          choices.push_back(std::move(moves));
        }
      }
    }
    const std::vector<OpId> module = tree_.ops_within(tree_.module_of(op));
    for (const DeviceId device : joins_.devices_of(module)) {
      Joins::Moves& moves = choices.emplace_back();
      for (const OpId member : module) {
        moves.emplace_back(member, device);
      }
    }
    joins_.make_best(choices);
  }

  // Adds the moves of the modules by which the result of `op` is where it is. Returns false if it
  // is there because the model's input is.
  bool add_moves_of_sources(OpId op, DeviceId device, Joins::Moves& moves) const {
    std::vector<OpId> left{op};
    std::vector<bool> is_known(index_of(problem_.num_ops()));
    while (!left.empty()) {
      const OpId next = left.back();
      left.pop_back();
      if (is_known[index_of(next)]) {
        continue;
      }
      is_known[index_of(next)] = true;
      if (follows(next) && is_model_input(next)) {
        return false;
      }
      const std::vector<OpId> inputs = inputs_of(next);
      if (follows(next) && !inputs.empty()) {
        left.insert(left.end(), inputs.begin(), inputs.end());
        continue;
      }
      for (const OpId member :
           follows(next) ? std::vector<OpId>{next} : tree_.ops_within(tree_.module_of(next))) {
        moves.emplace_back(member, device);
      }
    }
    return true;
  }

  void write(ModuleId module, Json& map, PlacementExport& result) const {
    const Module& present = tree_.modules()[module];
    const auto note = [&](const std::string& what, std::span<const OpId> ops) {
      if (const auto change = joins_.change_of(what, ops)) {
        result.joined.push_back(*change);
      }
    };
    if (device_[module] != kSplit) {
      if (device_[module] != kNone) {
        map.add(present.path, torch_index(problem_.device(device_[module]).name));
        note(present.path, tree_.ops_within(module));
      }
      return;
    }
    for (const OpId op : present.ops) {
      const std::string& name = problem_.op(op).name;
      if (problem_.op(op).kind == "variable") {
        map.add(name, torch_index(problem_.device(joins_.device_of(op)).name));
      }
      note(name, {&op, 1});
    }
    for (const ModuleId child : present.children) {
      write(child, map, result);
    }
  }

  // A number for a GPU, "cpu" else.
  static Json torch_index(const std::string& device) {
    const std::string name = torch_device(device);
    return name == "cpu" ? Json(name) : Json(std::stoi(name.substr(name.find(':') + 1)));
  }

  const Problem& problem_;
  ModuleTree tree_;
  Joins joins_;
  bool has_order_;
  IdVector<ModuleId, DeviceId> device_;
  IdVector<ModuleId, bool> may_split_;
};

}  // namespace

PlacementExport write_torch_device_map(const Problem& problem, const Placement& placement) {
  return DeviceMap(problem, placement).write();
}

}  // namespace emplace
