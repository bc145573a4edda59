// The profiles of PipeDream (Narayanan et al., SOSP 2019), its graph.txt: a line for each layer
// and, after a tab, one for each edge.
//     node1 -- Conv2d(3, 64) -- forward_compute_time=1.5, backward_compute_time=3.0,
//         activation_size=4096.0, parameter_size=256.000 -- stage_id=0        (in one line)
//         node1 -- node2
// Times are in milliseconds, sizes in bytes; several outputs are written [1.0; 2.0] and become one
// tensor. The description becomes the scope; a stage, which is PipeDream's own answer, is ignored.
//
// The format has layers, not a step. For a training step each layer becomes an op that runs forward
// and one, called after it, that runs backward. Along each edge the activation goes forward and its
// gradient, of the same size, back. The backward op also reads the layer's activation and its
// parameters, which the forward op holds. A layer without inputs, parameters and backward time (an
// input) has no backward op.

#include "formats/text_cursor.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emplace::pipedream_format {
namespace {

constexpr std::string_view kSeparator = " -- ";
constexpr double kMaxMs = 1e12;
constexpr double kMaxBytes = 1e18;

struct Layer {
  std::string id;
  std::string description;
  double forward_ms = 0;
  double backward_ms = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t parameter_bytes = 0;
  std::vector<OpId> inputs{};
  OpId backward_op = -1;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

class PipedreamReader {
 public:
  PipedreamReader(std::string_view text, const std::string& source, const Params& params)
      : device_class_(params.get<std::string>("device-class")), cursor_(text, source) {
    while (!cursor_.at_end()) {
      const std::string_view line = cursor_.rest().substr(0, cursor_.rest().find('\n'));
      if (!trimmed(line).empty()) {
        line.front() == '\t' ? read_edge(trimmed(line)) : read_layer(trimmed(line));
      }
      cursor_.take(std::min(line.size() + 1, cursor_.rest().size()));
    }
    if (layers_.empty()) {
      cursor_.fail("expected at least one layer");
    }
  }

  OpGraph build(bool training) && {
    OpGraph graph;
    for (const Layer& layer : layers_) {
      Op op = op_of(layer, layer.id, Phase::kForward, layer.forward_ms);
      op.outputs = {{.bytes = layer.activation_bytes}};
      op.persistent_bytes = layer.parameter_bytes;
      if (layer.parameter_bytes > 0) {
        op.outputs.push_back({.bytes = layer.parameter_bytes, .persistent = true});
      }
      boost::add_vertex(std::move(op), graph);
    }
    for (OpId id = 0; id < static_cast<OpId>(layers_.size()); ++id) {
      for (const OpId input : layers_[id].inputs) {
        add_dependency(graph, input, 0, id);
      }
    }
    if (training) {
      add_backward_pass(graph);
    }
    return graph;
  }

 private:
  Op op_of(const Layer& layer, std::string name, Phase phase, double ms) const {
    return {.name = std::move(name),
            .kind = "layer",
            .phase = phase,
            .scope = layer.description,
            .measured = {{.device_class = device_class_, .cost_us = ms * 1000}}};
  }

  void add_backward_pass(OpGraph& graph) {
    // Later layers first, so that ops stand in the order in which they run.
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      if (layer->inputs.empty() && layer->backward_ms == 0 && layer->parameter_bytes == 0) {
        continue;
      }
      layer->backward_op = num_ops(graph);
      boost::add_vertex(
          op_of(*layer, layer->id + "_backward", Phase::kBackward, layer->backward_ms), graph);
    }
    for (OpId id = num_layers() - 1; id >= 0; --id) {
      const Layer& layer = layers_[id];
      if (layer.backward_op < 0) {
        continue;
      }
      add_dependency(graph, id, 0, layer.backward_op);
      if (layer.parameter_bytes > 0) {
        add_dependency(graph, id, 1, layer.backward_op);
      }
      for (const OpId input : layer.inputs) {
        const Layer& producer = layers_[input];
        if (producer.backward_op >= 0) {
          std::vector<Output>& gradients = graph[index_of(layer.backward_op)].outputs;
          gradients.push_back({.bytes = producer.activation_bytes});
          add_dependency(graph, layer.backward_op, static_cast<std::int32_t>(gradients.size()) - 1,
                         producer.backward_op);
        }
      }
    }
  }

  OpId num_layers() const { return static_cast<OpId>(layers_.size()); }

  void read_layer(std::string_view line) {
    const std::size_t first = line.find(kSeparator);
    std::size_t last = line.rfind(kSeparator);
    if (first != std::string_view::npos && line.substr(last).starts_with(" -- stage_id=")) {
      line = line.substr(0, last);
      last = line.rfind(kSeparator);
    }
    if (last == std::string_view::npos || first == 0 || first >= last) {
      cursor_.fail_expected("'id -- description -- forward_compute_time=..., ...'");
    }
    Layer layer{.id = std::string(line.substr(0, first)),
                .description = std::string(line.substr(first + 4, last - first - 4))};
    if (!layer_of_.emplace(layer.id, num_layers()).second) {
      cursor_.fail(fmt::format("the id '{}' appears twice", layer.id));
    }
    std::string_view values = line.substr(last + 4);
    layer.forward_ms = take_value(values, "forward_compute_time", kMaxMs);
    layer.backward_ms = take_value(values, "backward_compute_time", kMaxMs);
    layer.activation_bytes = std::llround(take_value(values, "activation_size", kMaxBytes));
    layer.parameter_bytes = std::llround(take_value(values, "parameter_size", kMaxBytes));
    if (!values.empty()) {
      cursor_.fail(fmt::format("expected four values, found more: '{}'", excerpt(values, 40)));
    }
    layers_.push_back(std::move(layer));
  }

  // Takes "name=value" and the comma behind it off `values`; a list in brackets is added up.
  double take_value(std::string_view& values, std::string_view name, double max) const {
    const std::string_view pair = trimmed(values.substr(0, values.find(',')));
    if (!pair.starts_with(name) || !pair.substr(name.size()).starts_with('=')) {
      cursor_.fail(fmt::format("expected {}=<number>, found '{}'", name, excerpt(pair, 40)));
    }
    values.remove_prefix(std::min(values.find(','), values.size() - 1) + 1);
    std::string_view terms = pair.substr(name.size() + 1);
    const bool is_list = terms.starts_with('[') && terms.ends_with(']');
    if (is_list) {
      terms = terms.substr(1, terms.size() - 2);
    }
    double sum = 0;
    for (bool is_more = true; is_more;) {
      const std::size_t end = is_list ? terms.find(';') : std::string_view::npos;
      sum += number(trimmed(terms.substr(0, end)), name);
      is_more = end != std::string_view::npos;
      terms.remove_prefix(is_more ? end + 1 : terms.size());
    }
    if (sum > max) {
      cursor_.fail(fmt::format("expected {} of at most {}, found {}", name, max, sum));
    }
    return sum;
  }

  double number(std::string_view text, std::string_view name) const {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value) ||
        value < 0) {
      cursor_.fail(fmt::format("expected {} of at least 0, found '{}'", name, excerpt(text, 40)));
    }
    return value;
  }

  void read_edge(std::string_view line) {
    const std::size_t separator = line.find(kSeparator);
    if (separator == std::string_view::npos) {
      cursor_.fail_expected("'id -- id'");
    }
    const OpId producer = find(line.substr(0, separator));
    const OpId consumer = find(line.substr(separator + kSeparator.size()));
    if (producer == consumer) {
      cursor_.fail("a layer would wait for itself");
    }
    layers_[consumer].inputs.push_back(producer);
  }

  OpId find(std::string_view id) const {
    const auto found = layer_of_.find(std::string(id));
    if (found == layer_of_.end()) {
      cursor_.fail(fmt::format("no layer above has the id '{}'", excerpt(id, 40)));
    }
    return found->second;
  }

  std::string device_class_;
  TextCursor cursor_;
  IdVector<OpId, Layer> layers_;
  std::unordered_map<std::string, OpId> layer_of_;
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  OpGraph graph = PipedreamReader(text, source, params).build(params.get<bool>("training"));
  graph[boost::graph_bundle].source = "PipeDream (Narayanan et al., SOSP 2019)";
  return graph;
}

const FormatRegistration kRegistration(
    {.name = "pipedream",
     .summary = "graph.txt of PipeDream's profiler: layers with times and sizes",
     .reference = "Narayanan et al., SOSP 2019; github.com/msr-fiddle/pipedream",
     .read_parameters = {{.name = "training",
                          .default_value = true,
                          .summary = "derive the backward pass"},
                         {.name = "device-class",
                          .default_value = "pipedream",
                          .summary = "device class that the times are of"}},
     .recognizes =
         [](const FileContent& file) {
           const std::string_view line = file.bytes.substr(0, file.bytes.find('\n'));
           return line.find(" -- forward_compute_time=") != std::string_view::npos;
         },
     .read = read});

}  // namespace
}  // namespace emplace::pipedream_format
