// A device map as Hugging Face Accelerate reads it: {"conv1": 0, "layer1.0": 1, "fc": "cpu"}. What
// enters a module of the map moves to its device. What a module that is not in the map computes
// itself runs where its inputs are, which must be one device. So a module with parameters has one
// device; the inputs of an op between modules are brought together; modules that share a weight are
// together, because Accelerate ties them again, on one of their devices; and gradients are computed
// where the forward pass was, as autograd does.

#include "colocation.hpp"
#include "formats.hpp"
#include "module_tree.hpp"
#include "shared_weights.hpp"

#include <emplace/base/json.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::bench {
namespace {

// The device of a module with all that it calls, or one of these.
constexpr DeviceId kNone = -1;   // it computes nothing
constexpr DeviceId kSplit = -2;  // several

class DeviceMap {
 public:
  DeviceMap(const Problem& problem, const Placement& placement)
      : problem_(problem),
        tree_(problem, "torch-device-map"),
        shared_(problem, tree_),
        colocation_(problem, without_priorities(placement)),
        has_order_(placement.has_priorities()),
        device_(tree_.modules().size()) {
    for (ModuleId module = 0; module < tree_.modules().end_id(); ++module) {
      if (!may_split(module)) {
        shared_.tie_whole(module);
      }
    }
    for (ModuleId module = 0; module < tree_.modules().end_id(); ++module) {
      const std::vector<OpId> ops = shared_.tied_ops(module);
      const bool is_leaf = tree_.modules()[module].is_leaf();
      const bool is_tied = is_leaf && ops.size() > tree_.modules()[module].ops.size();
      // A leaf without parameters may follow its inputs if its calls are on several devices.
      if (is_tied || !may_split(module) ||
          (is_leaf && colocation_.devices_of(calls_of(module)).size() == 1)) {
        colocation_.colocate(ops);
      }
    }
    resolve();
    colocation_.try_one_device();
    find_devices();
  }

  PlacementExport write() {
    PlacementExport result{.placement = colocation_.placement(),
                           .colocated = shared_.changes(colocation_)};
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

  bool may_split(ModuleId module) const {
    return !has_parameters(module) ||
           (!tree_.modules()[module].is_leaf() && has_paths_of_parameters(module));
  }

  std::vector<OpId> calls_of(ModuleId module) const {
    std::vector<OpId> calls;
    std::ranges::copy_if(tree_.modules()[module].ops, std::back_inserter(calls),
                         [&](OpId op) { return is_call(problem_, op); });
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
          add(colocation_.device_of(op));
        }
      } else if (device != kSplit) {
        for (const OpId op : present.ops) {
          colocation_.move(op, device);
        }
      }
    }
  }

  bool follows(OpId op) const { return device_[tree_.module_of(op)] == kSplit; }

  // Returns the ops whose results a call reads. A weight that others read, too, does not follow it.
  std::vector<OpId> inputs_of(OpId call) const {
    std::vector<OpId> inputs;
    for (const UseId input : problem_.inputs(call)) {
      const Problem::Use& use = problem_.uses()[input];
      if (use.output >= 0 &&
          (!is_stored(problem_, use.producer) || shared_.is_shared(use.producer))) {
        inputs.push_back(use.producer);
      }
    }
    return inputs;
  }

  bool is_model_input(OpId op) const { return problem_.op(op).kind == "input"; }

  // What enters the model moves to the first device that computes.
  void move_model_inputs() {
    const auto order = problem_.topological_order();
    const auto first = std::ranges::find_if(
        order, [&](OpId op) { return is_call(problem_, op) && !is_model_input(op); });
    for (const OpId op : order) {
      if (first != order.end() && is_model_input(op) && follows(op)) {
        colocation_.move(op, colocation_.device_of(*first));
      }
    }
  }

  // Makes it a placement that a map can express. After many conflicts only whole modules move, and
  // after more all of them, so that it ends: weights may tie modules of different parents.
  void resolve() {
    const std::size_t many = tree_.modules().size();
    for (std::size_t resolved = 0; !follow_inputs(resolved > many); ++resolved) {
      if (resolved > 3 * many) {
        colocation_.colocate(problem_.topological_order());
      }
    }
  }

  // Returns the ops that hold and read a shared weight, with their modules where these have one
  // device.
  std::vector<OpId> users_of(const SharedWeight& weight) {
    std::set<OpId> users{weight.variable};
    const auto add = [&](OpId op) {
      if (!follows(op)) {
        const std::vector<OpId> tied = shared_.tied_ops(tree_.module_of(op));
        users.insert(tied.begin(), tied.end());
      }
    };
    add(weight.variable);
    std::ranges::for_each(weight.readers, add);
    return {users.begin(), users.end()};
  }

  // Brings the modules that read a shared weight to its device; returns whether one was elsewhere.
  bool join_users() {
    for (const SharedWeight& weight : shared_.weights()) {
      const DeviceId device = colocation_.device_of(weight.variable);
      if (std::ranges::any_of(weight.readers, [&](OpId reader) {
            return !follows(reader) && colocation_.device_of(reader) != device;
          })) {
        colocation_.colocate(users_of(weight));
        return true;
      }
    }
    return false;
  }

  // Moves what follows others to their devices. Returns false where it has to be called again: it
  // resolved the first conflict, or brought modules together.
  bool follow_inputs(bool whole_modules) {
    find_devices();
    move_model_inputs();
    if (join_users()) {
      return false;
    }
    for (const OpId op : problem_.topological_order()) {
      if (!follows(op) || !is_call(problem_, op)) {
        continue;
      }
      const std::vector<DeviceId> devices = colocation_.devices_of(inputs_of(op));
      if (devices.size() > 1) {
        resolve_conflict(op, devices, whole_modules);
        return false;
      }
      if (devices.size() == 1) {
        colocation_.move(op, devices.front());
      }
    }
    for (const OpId op : problem_.topological_order()) {
      if (follows(op) && !is_call(problem_, op) && !shared_.is_shared(op)) {
        colocation_.move(op, colocation_.device_of(tree_.forward_of(op)));
      }
    }
    // What followed may have brought a module together.
    const Placement before = colocation_.placement();
    find_devices();
    return colocation_.placement() == before;
  }

  // The inputs of a call are on several devices. Brings them to one, by moving the modules that
  // compute them, or puts the whole module of the call on one device.
  void resolve_conflict(OpId call, std::span<const DeviceId> devices, bool whole_modules) {
    std::vector<Colocation::Move> choices;
    for (const DeviceId device : devices) {
      if (auto sources = sources_elsewhere(call, device); sources && !whole_modules) {
        choices.emplace_back(std::move(*sources), device);
      }
    }
    const std::vector<OpId> module = shared_.tied_ops(tree_.module_of(call));
    for (const DeviceId device : colocation_.devices_of(module)) {
      choices.emplace_back(module, device);
    }
    colocation_.make_best(choices);
  }

  // Returns the ops of the modules by which inputs of `call` are not on `device`; nothing if one is
  // elsewhere because the model's input is.
  std::optional<std::vector<OpId>> sources_elsewhere(OpId call, DeviceId device) {
    std::set<OpId> sources;
    std::vector<OpId> left = inputs_of(call);
    std::erase_if(left, [&](OpId input) { return colocation_.device_of(input) == device; });
    IdVector<OpId, bool> is_known(problem_.num_ops());
    while (!left.empty()) {
      const OpId next = left.back();
      left.pop_back();
      if (is_known[next]) {
        continue;
      }
      is_known[next] = true;
      const std::vector<OpId> inputs = inputs_of(next);
      if (!follows(next)) {
        const std::vector<OpId> members = shared_.tied_ops(tree_.module_of(next));
        sources.insert(members.begin(), members.end());
      } else if (is_model_input(next)) {
        return std::nullopt;
      } else if (const auto weight =
                     std::ranges::find(shared_.weights(), next, &SharedWeight::variable);
                 weight != shared_.weights().end()) {
        const std::vector<OpId> users = users_of(*weight);
        sources.insert(users.begin(), users.end());
      } else if (inputs.empty()) {
        sources.insert(next);
      } else {
        left.insert(left.end(), inputs.begin(), inputs.end());
      }
    }
    return std::vector<OpId>(sources.begin(), sources.end());
  }

  void write(ModuleId module, Json& map, PlacementExport& result) const {
    const Module& present = tree_.modules()[module];
    const auto note = [&](const std::string& what, std::span<const OpId> ops) {
      if (const auto change = colocation_.change_of(what, ops)) {
        result.colocated.push_back(*change);
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
        map.add(name, torch_index(problem_.device(colocation_.device_of(op)).name));
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
  SharedWeights shared_;
  Colocation colocation_;
  bool has_order_;
  IdVector<ModuleId, DeviceId> device_;
};

}  // namespace

PlacementExport write_torch_device_map(const Problem& problem, const Placement& placement) {
  expect_no_replicas(problem);
  return DeviceMap(problem, placement).write();
}

}  // namespace emplace::bench
