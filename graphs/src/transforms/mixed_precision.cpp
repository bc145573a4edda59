#include "losses.hpp"
#include "model/assemble.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/mixed_precision.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {
namespace {

constexpr std::array<std::string_view, 3> kNorms = {"batch_norm", "layer_norm", "rms_norm"};
constexpr std::array<std::string_view, 2> kLookups = {"embedding", "embedding_bag"};

bool is_one_of(std::string_view kind, std::span<const std::string_view> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

bool computes_loss(std::string_view kind) {
  return is_one_of(kind, kLosses) || kind == "balance_loss";
}

// Says whether an op reads an input as it is, in float32.
bool reads_as_it_is(std::string_view kind, std::size_t input) {
  return (is_one_of(kind, kNorms) && input == 1) || (is_one_of(kind, kLookups) && input == 0);
}

class Converter {
 public:
  Converter(const OpGraph& forward, DataType type)
      : forward_(forward), type_(type), new_ids_(emplace::num_ops(forward), -1) {
    casts_.resize(new_ids_.size());
  }

  OpGraph run() && {
    graph_[boost::graph_bundle] = forward_[boost::graph_bundle];
    std::vector<OpId> losses;
    for (const OpId op : topological_order(forward_)) {
      convert(op);
      if (is_loss(forward_, op)) {
        losses.push_back(op);
      }
    }
    if (type_ == DataType::kFloat16 && losses.size() == 1) {
      append_op(graph_,
                {.name = "loss_scale",
                 .kind = "add_losses",
                 .shape = {1, 1},
                 .flops = 1,
                 .outputs = {make_output({}, DataType::kFloat32)}},
                {Tensor{new_ids_[losses[0]], 0}});
    }
    validate(graph_, graph_[boost::graph_bundle].name);
    return take(graph_);
  }

 private:
  void convert(OpId id) {
    Op op = forward_[index_of(id)];
    EMPLACE_CHECK(op.phase == Phase::kForward, "op {} is not of the forward pass", op.name);
    std::vector<Tensor> inputs;
    std::int64_t read_bytes = 0;  // each input once, in float32
    std::int64_t written_bytes = 0;
    std::vector<OpId> before;  // by control edges
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(id), forward_))) {
      const auto producer = static_cast<OpId>(boost::source(edge, forward_));
      if (forward_[edge].output == Dependency::kControl) {
        before.push_back(new_ids_[producer]);
        continue;
      }
      const Tensor read{producer, forward_[edge].output};
      read_bytes += value_of(forward_, read).bytes;
      inputs.push_back(input_of(op.kind, inputs.size(), read));
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      written_bytes += op.outputs[i].bytes;
      if (op.outputs[i].type == DataType::kFloat32 && becomes_short(op.kind, i)) {
        op.outputs[i] = make_output(op.outputs[i].shape, type_);
      }
    }
    // What is moved beyond each tensor once is of the same numbers, but for moving statistics and
    // rows of a table in float32.
    const bool reads_table = is_one_of(op.kind, kLookups) && !inputs.empty() &&
                             value_of(graph_, inputs[0]).type == DataType::kFloat32;
    if (launches(op.kind)) {
      op.bytes_read -= read_bytes;
      op.bytes_written -= written_bytes;
      if (!computes_loss(op.kind) && !reads_table) {
        op.bytes_read = op.persistent_bytes + (op.bytes_read - op.persistent_bytes) / 2;
        op.bytes_written = op.persistent_bytes + (op.bytes_written - op.persistent_bytes) / 2;
      }
    }
    new_ids_[id] = append_op(graph_, std::move(op), inputs);
    for (const OpId producer : before) {
      add_dependency(graph_, producer, Dependency::kControl, new_ids_[id]);
    }
  }

  static bool becomes_short(std::string_view kind, std::size_t output) {
    return kind != "variable" && kind != "input" && !computes_loss(kind) &&
           (!is_one_of(kind, kNorms) || output == 0);
  }

  // Returns what an op reads instead of a tensor of the forward graph.
  Tensor input_of(std::string_view kind, std::size_t input, Tensor read) {
    const Tensor now{new_ids_[read.op], read.output};
    const DataType type = value_of(graph_, now).type;
    if (value_of(forward_, read).type != DataType::kFloat32 || reads_as_it_is(kind, input)) {
      return now;
    }
    const DataType wanted = computes_loss(kind) ? DataType::kFloat32 : type_;
    return type == wanted ? now : cast(read, now, wanted);
  }

  // Returns a tensor in another type; all who want it share it.
  Tensor cast(Tensor read, Tensor now, DataType type) {
    auto& known = casts_[read.op];
    const auto found = std::ranges::find(known, read.output, &Cast::output);
    if (found != known.end()) {
      return {found->op, 0};
    }
    const Op& producer = graph_[index_of(now.op)];
    const Output& value = producer.outputs[index_of(now.output)];
    Op op{.name = producer.name + "/cast" + (now.output == 0 ? "" : fmt::format("_{}", now.output)),
          .kind = "scale",
          .shape = {product(value.shape)},
          .flops = product(value.shape),
          .outputs = {make_output(value.shape, type)},
          // That of a variable shares the variable's device.
          .colocation = value.persistent ? producer.colocation : "",
          .scope = producer.scope};
    known.push_back({read.output, append_op(graph_, std::move(op), {now})});
    return {known.back().op, 0};
  }

  struct Cast {
    std::int32_t output;  // of the forward op
    OpId op;
  };

  const OpGraph& forward_;
  DataType type_;
  OpGraph graph_;
  IdVector<OpId, OpId> new_ids_;             // of forward ops
  IdVector<OpId, std::vector<Cast>> casts_;  // of forward ops' outputs
};

}  // namespace

OpGraph mixed_precision(const OpGraph& forward, DataType type) {
  EMPLACE_CHECK(type == DataType::kFloat16 || type == DataType::kBfloat16, "mixed with {}",
                to_string(type));
  return Converter(forward, type).run();
}

}  // namespace emplace
