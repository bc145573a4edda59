#include "rewriter.hpp"

#include "model/assemble.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace emplace::onnx_model {

Rewriter::Rewriter(Model& model) : model_(model), is_gone_(model.nodes.size(), false) {
  for (const onnx::ValueInfoProto& result : model.proto.graph().output()) {
    ++reads_[result.name()];
  }
  for (Index i = 0; i < model.nodes.size(); ++i) {
    for (const std::string& name : model.nodes[i]->input()) {
      ++reads_[name];
      readers_[name].push_back(i);
    }
    for (const std::string& name : model.nodes[i]->output()) {
      makers_[name] = i;
    }
  }
  // Inputs and results that are left out have no name.
  reads_.erase("");
  readers_.erase("");
  makers_.erase("");
}

const std::string& Rewriter::input(Index node, int index) const {
  static const std::string none;
  return index < at(node).input_size() ? at(node).input(index) : none;
}

bool Rewriter::is_of(Index index, std::string_view op_type) const {
  return !is_gone_[index] && at(index).op_type() == op_type &&
         is_standard_domain(at(index).domain());
}

std::optional<Rewriter::Index> Rewriter::maker(const std::string& name,
                                               std::string_view op_type) const {
  const auto found = makers_.find(name);
  return found != makers_.end() && is_of(found->second, op_type) ? std::optional(found->second)
                                                                 : std::nullopt;
}

std::optional<Rewriter::Index> Rewriter::reader(const std::string& name,
                                                std::string_view op_type) const {
  const auto found = readers_.find(name);
  return found != readers_.end() && num_reads(name) == 1 && is_of(found->second[0], op_type)
             ? std::optional(found->second[0])
             : std::nullopt;
}

int Rewriter::num_reads(const std::string& name) const {
  const auto found = reads_.find(name);
  return found != reads_.end() ? found->second : 0;
}

bool Rewriter::are_alone(const std::vector<Index>& nodes, Index last) const {
  const auto is_inside = [&](Index reader) {
    return std::ranges::find(nodes, reader) != nodes.end();
  };
  return std::ranges::all_of(nodes, [&](Index node) {
    return node == last || std::ranges::all_of(at(node).output(), [&](const std::string& name) {
             const auto readers = readers_.find(name);
             const auto inside =
                 readers == readers_.end() ? 0 : std::ranges::count_if(readers->second, is_inside);
             return inside == num_reads(name);
           });
  });
}

const KnownValue* Rewriter::find(const std::string& name) const {
  const auto found = model_.values.find(name);
  return found != model_.values.end() ? &found->second : nullptr;
}

const Shape& Rewriter::shape(const std::string& name) const {
  static const Shape none;
  const KnownValue* value = find(name);
  return value != nullptr ? value->output.shape : none;
}

std::optional<double> Rewriter::number(const std::string& name) const {
  const KnownValue* value = find(name);
  return value != nullptr && value->numbers ? single_of(*value->numbers) : std::nullopt;
}

bool Rewriter::is_near(const std::string& name, double expected) const {
  const auto found = number(name);
  return found && std::abs(*found - expected) < 1e-3 * std::abs(expected);
}

bool Rewriter::reads(const onnx::NodeProto& node, const std::string& name) {
  return std::ranges::find(node.input(), name) != node.input().end();
}

void Rewriter::replace(const std::vector<Index>& nodes, onnx::NodeProto node) {
  const Index last = *std::ranges::max_element(nodes);
  node.set_name(at(last).name());
  node.add_output(at(last).output(0));
  for (const Index index : nodes) {
    is_gone_[index] = index != last;
  }
  model_.nodes[last] = &model_.made.emplace_back(std::move(node));
}

void Rewriter::put(Index place, onnx::NodeProto node, Shape shape) {
  const DataType type = find(node.input(0))->output.type;
  model_.values.emplace(node.output(0), KnownValue{make_output(std::move(shape), type)});
  node.set_name(at(place).name());
  model_.nodes[place] = &model_.made.emplace_back(std::move(node));
  is_gone_[place] = false;
}

void Rewriter::finish() {
  std::map<std::string, int, std::less<>> reads;
  for (const onnx::ValueInfoProto& result : model_.proto.graph().output()) {
    ++reads[result.name()];
  }
  const auto is_read_no_more = [&](const std::string& name) {
    return num_reads(name) > 0 && !reads.contains(name);
  };
  for (Index i = num_nodes(); i-- > 0;) {
    const auto& results = at(i).output();
    // What was never read is the file's own affair.
    const bool has_lost_readers = std::ranges::any_of(results, is_read_no_more) &&
                                  std::ranges::none_of(results, [&](const std::string& name) {
                                    return reads.contains(name);
                                  });
    is_gone_[i] = is_gone_[i] || has_lost_readers;
    if (!is_gone_[i]) {
      for (const std::string& name : at(i).input()) {
        ++reads[name];
      }
    }
  }
  Index left = 0;
  for (Index i = 0; i < num_nodes(); ++i) {
    if (!is_gone_[i]) {
      model_.nodes[left++] = model_.nodes[i];
    }
  }
  model_.nodes.resize(left);
}

}  // namespace emplace::onnx_model
