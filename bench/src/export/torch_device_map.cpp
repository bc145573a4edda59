// A device map as Hugging Face Accelerate reads it: {"conv1": 0, "layer1.0": 1, "fc": "cpu"}. What
// enters a module of the map moves to its device. What a module that is not in the map computes
// itself runs where its inputs are, which must be one device. What enters the model, and parameters
// and buffers of the model itself, move to the main device, that of the map's first entry; so does
// what leaves it, and the loss that emplace adds is computed there. So a
// module with parameters has one device; the inputs of an op between modules are brought together;
// modules that share a weight are together, because Accelerate ties them again, on one of their
// devices; and gradients are computed where the forward pass was, as autograd does.

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
        device_(tree_.modules().size()),
        stays_(problem.num_ops()) {
    for (const SharedWeight& weight : shared_.weights()) {
      stays_[weight.variable] = true;
    }
    for (const OpId op : tree_.modules()[ModuleTree::kRoot].ops) {
      if (is_stored(problem, op) && is_held_by(op, "")) {
        held_by_model_.push_back(op);
        stays_[op] = true;
      }
    }
    colocation_.colocate(held_by_model_);
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
    write(ModuleTree::kRoot, result);
    write_stored();
    Json map = Json::object();
    const auto is_main = [&](const auto& entry) { return entry.second == main_device(); };
    if (const auto first = std::ranges::find_if(entries_, is_main); first != entries_.end()) {
      std::rotate(entries_.begin(), first, std::next(first));
    }
    for (const auto& [path, device] : entries_) {
      map.add(path, torch_index(problem_.device(device).name));
    }
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
      return problem_.op(op).kind != "variable" || path.empty() || is_held_by(op, path);
    });
  }

  // Says whether what a stored op holds is called by the path of the module, and a name.
  bool is_held_by(OpId op, const std::string& path) const {
    const std::vector<std::string> held = stored_paths(problem_.op(op).name);
    return !held.empty() && std::ranges::all_of(held, [&](std::string_view each) {
      const std::size_t dot = each.rfind('.');
      return (dot == std::string_view::npos ? "" : each.substr(0, dot)) == path;
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

  // Returns the ops whose results a call reads, and what is stored that does not follow it: weights
  // that others read, too, and what the model itself holds.
  std::vector<OpId> inputs_of(OpId call) const {
    std::vector<OpId> inputs;
    for (const UseId input : problem_.inputs(call)) {
      const Problem::Use& use = problem_.uses()[input];
      if (use.output >= 0 && (!is_stored(problem_, use.producer) || stays_[use.producer])) {
        inputs.push_back(use.producer);
      }
    }
    return inputs;
  }

  bool is_model_input(OpId op) const { return problem_.op(op).kind == "input"; }

  // Says whether `op` is of the loss that an importer has added: what calls the model computes it.
  bool is_loss(OpId op) const { return problem_.op(op).scope == "loss"; }

  // The device of what the model itself holds, or the first that computes.
  std::optional<DeviceId> main_device() const {
    if (!held_by_model_.empty()) {
      return colocation_.device_of(held_by_model_.front());
    }
    const auto order = problem_.topological_order();
    const auto first = std::ranges::find_if(
        order, [&](OpId op) { return is_call(problem_, op) && !is_model_input(op); });
    return first != order.end() ? std::optional(colocation_.device_of(*first)) : std::nullopt;
  }

  // What enters the model moves to the main device, and so do its results.
  void move_to_main_device() {
    const std::optional<DeviceId> device = main_device();
    for (const OpId op : problem_.topological_order()) {
      if (device && (is_model_input(op) || is_loss(op)) && follows(op)) {
        colocation_.move(op, *device);
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
    move_to_main_device();
    if (join_users()) {
      return false;
    }
    for (const OpId op : problem_.topological_order()) {
      if (!follows(op) || !is_call(problem_, op) || is_loss(op)) {
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
      if (follows(op) && !is_call(problem_, op) && !stays_[op]) {
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
      } else if (std::ranges::find(held_by_model_, next) != held_by_model_.end()) {
        sources.insert(held_by_model_.begin(), held_by_model_.end());
      } else if (inputs.empty()) {
        sources.insert(next);
      } else {
        left.insert(left.end(), inputs.begin(), inputs.end());
      }
    }
    return std::vector<OpId>(sources.begin(), sources.end());
  }

  void write(ModuleId module, PlacementExport& result) {
    const Module& present = tree_.modules()[module];
    const auto note = [&](const std::string& what, std::span<const OpId> ops) {
      if (const auto change = colocation_.change_of(what, ops)) {
        result.colocated.push_back(*change);
      }
    };
    if (device_[module] != kSplit) {
      if (device_[module] != kNone) {
        entries_.emplace_back(present.path, device_[module]);
        note(present.path, tree_.ops_within(module));
      }
      return;
    }
    for (const OpId op : present.ops) {
      note(problem_.op(op).name, {&op, 1});
    }
    for (const ModuleId child : present.children) {
      write(child, result);
    }
  }

  // Parameters and buffers next to the modules of the map have entries of their own.
  void write_stored() {
    std::set<std::string, std::less<>> known;
    for (const auto& [path, device] : entries_) {
      known.insert(path);
    }
    const auto is_known = [&](std::string_view path) {
      while (!known.contains(path) && !path.empty()) {
        path = path.substr(0, path.find('.') == std::string_view::npos ? 0 : path.rfind('.'));
      }
      return known.contains(path);
    };
    for (const OpId op : problem_.topological_order()) {
      // Not all constants are buffers.
      if (!is_stored(problem_, op) ||
          (problem_.op(op).kind == "constant" &&
           !is_held_by(op, tree_.modules()[tree_.module_of(op)].path))) {
        continue;
      }
      for (const std::string& path : stored_paths(problem_.op(op).name)) {
        const std::size_t dot = path.rfind('.');
        const bool is_of_model = dot == std::string::npos;
        if (!is_known(path) && (is_of_model || tree_.has(std::string_view(path).substr(0, dot)))) {
          const DeviceId device = colocation_.device_of(op);
          entries_.emplace_back(path, is_of_model ? main_device().value_or(device) : device);
          known.insert(path);
        }
      }
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
  std::vector<OpId> held_by_model_;  // parameters and buffers, which are on the main device
  IdVector<OpId, bool> stays_;       // what is stored and does not follow its reader
  std::vector<std::pair<std::string, DeviceId>> entries_;
};

}  // namespace

PlacementExport write_torch_device_map(const Problem& problem, const Placement& placement) {
  expect_no_replicas(problem);
  return DeviceMap(problem, placement).write();
}

}  // namespace emplace::bench
