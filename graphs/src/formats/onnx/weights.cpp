#include "weights.hpp"

#include "model/assemble.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace emplace::onnx_model {
namespace {

// Operators that leave numbers as they are.
constexpr std::array<std::string_view, 9> kMovements = {"Concat",  "Flatten",   "Identity",
                                                        "Reshape", "Slice",     "Split",
                                                        "Squeeze", "Transpose", "Unsqueeze"};

// The most weights that are joined to one: those of a recurrent layer and more.
constexpr std::size_t kMaxJoined = 64;

std::string_view note(const auto& properties, std::string_view key) {
  for (const onnx::StringStringEntryProto& property : properties) {
    if (property.key() == key) {
      return property.value();
    }
  }
  return "";
}

// The texts between quotes: "['a', 'b']" has two.
std::vector<std::string> quoted(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t at = text.find('\''); at != std::string_view::npos; at = text.find('\'', at)) {
    const std::size_t end = text.find('\'', at + 1);
    if (end == std::string_view::npos) {
      break;
    }
    all.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return all;
}

// Says whether two matrices of the file, which are not alike in all numbers, are each other's
// transpose.
bool is_transpose(const onnx::TensorProto& one, const onnx::TensorProto& other) {
  const std::string_view left = one.raw_data();
  const std::string_view right = other.raw_data();
  const auto rows = static_cast<std::size_t>(one.dims(0));
  const auto columns = static_cast<std::size_t>(one.dims(1));
  if (one.data_type() != other.data_type() || left.empty() || rows * columns == 0 ||
      left.size() != right.size() || left.size() % (rows * columns) != 0) {
    return false;
  }
  const std::size_t bytes = left.size() / (rows * columns);
  bool are_alike = true;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::string_view number = left.substr((i * columns + j) * bytes, bytes);
      if (number != right.substr((j * rows + i) * bytes, bytes)) {
        return false;
      }
      are_alike = are_alike && number == left.substr(0, bytes);
    }
  }
  return !are_alike;
}

class WeightRestorer {
 public:
  explicit WeightRestorer(Model& model) : model_(model) {}

  void run() {
    for (const onnx::NodeProto* node : model_.nodes) {
      if (const auto weights = weights_of(*node)) {
        for (const std::string& name : node->output()) {
          if (!name.empty()) {
            moved_[name] = {*weights, node};
          }
        }
      } else {
        for (const std::string& name : node->input()) {
          add_use(name);
        }
      }
    }
    for (const onnx::ValueInfoProto& result : model_.proto.graph().output()) {
      add_use(result.name());
    }
    for (const std::string& name : used_) {
      const auto moved = moved_.find(name);
      if (moved == moved_.end()) {
        continue;
      }
      if (is_whole(name, moved->second.weights)) {
        model_.values.find(name)->second.origin = Origin::kWeight;
        model_.stored[name] = moved->second.weights;
      } else {
        keep(name);
      }
    }
    std::erase_if(model_.nodes, [&](const onnx::NodeProto* node) {
      const auto moved = node->output_size() > 0 ? moved_.find(node->output(0)) : moved_.end();
      return moved != moved_.end() && moved->second.node == node && !kept_.contains(node);
    });
  }

 private:
  struct Moved {
    std::vector<std::string> weights;
    const onnx::NodeProto* node;
  };

  // The weights whose numbers a node moves, in their order, if it does nothing else.
  std::optional<std::vector<std::string>> weights_of(const onnx::NodeProto& node) const {
    if (!is_standard_domain(node.domain()) ||
        std::ranges::find(kMovements, node.op_type()) == kMovements.end()) {
      return std::nullopt;
    }
    std::vector<std::string> all;
    for (const std::string& name : node.input()) {
      const auto moved = moved_.find(name);
      const auto value = model_.values.find(name);
      if (moved != moved_.end()) {
        for (const std::string& weight : moved->second.weights) {
          add(all, weight);
        }
      } else if (value != model_.values.end() && value->second.origin == Origin::kWeight) {
        add(all, original(name));
      } else if (!name.empty() &&
                 (value == model_.values.end() || value->second.origin != Origin::kConstant)) {
        return std::nullopt;
      }
    }
    const bool are_few = !all.empty() && all.size() <= kMaxJoined;
    return are_few ? std::optional(std::move(all)) : std::nullopt;
  }

  static void add(std::vector<std::string>& all, const std::string& name) {
    if (std::ranges::find(all, name) == all.end()) {
      all.push_back(name);
    }
  }

  // A weight may itself be another one in another order.
  const std::string& original(const std::string& name) const {
    const auto stored = model_.stored.find(name);
    return stored != model_.stored.end() ? stored->second.front() : name;
  }

  void add_use(const std::string& name) {
    if (name.empty() || !used_.insert(name).second) {
      return;
    }
    if (const auto moved = moved_.find(name); moved != moved_.end()) {
      for (const std::string& weight : moved->second.weights) {
        ++uses_[weight];
      }
    } else {
      ++uses_[original(name)];
    }
  }

  // Says whether a tensor has all numbers of its weights. Several become one variable, if nothing
  // else reads them.
  bool is_whole(const std::string& name, const std::vector<std::string>& weights) const {
    std::int64_t elements = 0;
    for (const std::string& weight : weights) {
      elements += product(model_.values.find(weight)->second.output.shape);
      if (weights.size() > 1 && uses_.find(weight)->second > 1) {
        return false;
      }
    }
    return elements == product(model_.values.find(name)->second.output.shape);
  }

  // Keeps the nodes that make a tensor.
  void keep(const std::string& name) {
    std::vector<std::string> left{name};
    while (!left.empty()) {
      const auto moved = moved_.find(left.back());
      left.pop_back();
      if (moved != moved_.end() && kept_.insert(moved->second.node).second) {
        const auto& inputs = moved->second.node->input();
        left.insert(left.end(), inputs.begin(), inputs.end());
      }
    }
  }

  Model& model_;
  std::map<std::string, Moved, std::less<>> moved_;  // by name of the result
  std::set<std::string, std::less<>> used_;          // what other nodes read
  std::map<std::string, int, std::less<>> uses_;     // of each weight, as it is or moved
  std::set<const onnx::NodeProto*> kept_;
};

}  // namespace

ExporterNotes::ExporterNotes(const onnx::GraphProto& graph) {
  constexpr std::string_view kParameter = ": PARAMETER target=";
  std::string_view signature =
      note(graph.metadata_props(), "pkg.torch.export.ExportedProgram.graph_signature");
  for (std::size_t at = signature.find(kParameter); at != std::string_view::npos;
       at = signature.find(kParameter)) {
    signature.remove_prefix(at);
    const std::vector<std::string> target = quoted(signature.substr(0, signature.find('\n')));
    if (!target.empty()) {
      parameters_.insert(target.front());
    }
    signature.remove_prefix(kParameter.size());
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    initializers_.emplace(tensor.name(), &tensor);
    if (tensor.dims_size() == 2 && !tensor.name().starts_with("onnx::")) {
      matrices_.emplace(Shape(tensor.dims().begin(), tensor.dims().end()), &tensor);
    }
  }
  for (const onnx::ValueInfoProto& value : graph.value_info()) {
    auto sources = quoted(note(value.metadata_props(), "pkg.onnxscript.optimizer.folded_from"));
    if (!sources.empty()) {
      sources_.emplace(value.name(), std::move(sources));
    }
  }
}

bool ExporterNotes::may_be_trained(const std::string& name) const {
  if (parameters_.empty() || parameters_.contains(name)) {
    return true;
  }
  const auto sources = sources_.find(name);
  return sources != sources_.end() &&
         std::ranges::any_of(sources->second, [&](const std::string& source) {
           return parameters_.contains(source);
         });
}

const onnx::TensorProto* ExporterNotes::original(const onnx::TensorProto& tensor) const {
  if (const auto sources = sources_.find(tensor.name()); sources != sources_.end()) {
    const auto source = initializers_.find(sources->second.front());
    return sources->second.size() == 1 && source != initializers_.end() ? source->second : nullptr;
  }
  // The older exporter calls what it has computed so, and does not say of what.
  if (!tensor.name().starts_with("onnx::") || tensor.dims_size() != 2) {
    return nullptr;
  }
  const auto [first, last] = matrices_.equal_range(Shape{tensor.dims(1), tensor.dims(0)});
  const auto found = std::find_if(
      first, last, [&](const auto& matrix) { return is_transpose(tensor, *matrix.second); });
  return found != last ? found->second : nullptr;
}

void restore_weights(Model& model) { WeightRestorer(model).run(); }

}  // namespace emplace::onnx_model
