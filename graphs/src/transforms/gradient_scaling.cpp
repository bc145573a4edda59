#include "gradient_scaling.hpp"

#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {
namespace {

class GradientScaling {
 public:
  GradientScaling(const OpGraph& step, bool unscales, bool clips)
      : step_(step), unscales_(unscales), clips_(clips) {}

  OpGraph run() && {
    graph_[boost::graph_bundle] = step_[boost::graph_bundle];
    for (OpId op = 0; op < num_ops(step_); ++op) {
      boost::add_vertex(step_[index_of(op)], graph_);
    }
    find_gradients();
    for (OpId op = 0; op < num_ops(step_); ++op) {
      if (step_[index_of(op)].phase != Phase::kUpdate) {
        connect(op);
      }
    }
    for (auto& [replica, gradients] : gradients_) {
      if (unscales_) {
        unscale(replica, gradients);
      }
      if (clips_) {
        clip(replica, gradients);
      }
    }
    for (OpId op = 0; op < num_ops(step_); ++op) {
      if (step_[index_of(op)].phase == Phase::kUpdate) {
        connect(op);
      }
    }
    validate(graph_, graph_[boost::graph_bundle].name);
    return take(graph_);
  }

 private:
  // What updates read of the backward pass, and what they read instead.
  struct Gradient {
    Tensor tensor;
    Tensor scaled;
    OpId update;  // the first that reads it
    int number;   // among those of the update
  };

  auto inputs_of(OpId op) const {
    return boost::make_iterator_range(boost::in_edges(index_of(op), step_));
  }

  static auto key_of(Tensor tensor) { return std::pair(tensor.op, tensor.output); }

  // Those of real numbers: the numbers of rows of a table stay as they are.
  bool is_gradient(OpGraph::edge_descriptor edge) const {
    const Op& producer = step_[boost::source(edge, step_)];
    return producer.phase == Phase::kBackward && step_[edge].output != Dependency::kControl &&
           is_floating(producer.outputs[index_of(step_[edge].output)].type);
  }

  void find_gradients() {
    for (OpId op = 0; op < num_ops(step_); ++op) {
      if (step_[index_of(op)].phase != Phase::kUpdate) {
        continue;
      }
      int number = 0;
      for (const auto edge : inputs_of(op)) {
        const Tensor tensor{static_cast<OpId>(boost::source(edge, step_)), step_[edge].output};
        if (!is_gradient(edge) || !places_.try_emplace(key_of(tensor)).second) {
          continue;
        }
        auto& gradients = gradients_[step_[index_of(op)].replica];
        places_[key_of(tensor)] = gradients.size();
        gradients.push_back({tensor, tensor, op, number++});
        graph_[index_of(op)].colocation = step_[index_of(op)].name;
      }
    }
    if (gradients_.empty()) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("graph {}: no update reads a gradient, so there is none to scale",
                              step_[boost::graph_bundle].name));
    }
  }

  void connect(OpId op) {
    const std::int32_t replica = step_[index_of(op)].replica;
    bool reads_gradient = false;
    for (const auto edge : inputs_of(op)) {
      Tensor read{static_cast<OpId>(boost::source(edge, step_)), step_[edge].output};
      if (step_[index_of(op)].phase == Phase::kUpdate && is_gradient(edge)) {
        read = gradients_.at(replica)[places_.at(key_of(read))].scaled;
        reads_gradient = true;
      }
      add_dependency(graph_, read.op, read.output, op);
    }
    if (const auto check = checks_.find(replica); reads_gradient && check != checks_.end()) {
      add_dependency(graph_, check->second.op, Dependency::kControl, op);
    }
  }

  void unscale(std::int32_t replica, std::vector<Gradient>& gradients) {
    std::vector<Tensor> flags;
    flags.reserve(gradients.size());
    for (Gradient& gradient : gradients) {
      gradient.scaled = next_to_maker(gradient, "unscale", "unscale", {});
      flags.push_back({gradient.scaled.op, 1});
    }
    checks_[replica] = joint(replica, "found_inf", flags);
  }

  void clip(std::int32_t replica, std::vector<Gradient>& gradients) {
    std::vector<Tensor> norms;
    norms.reserve(gradients.size());
    for (const Gradient& gradient : gradients) {
      norms.push_back(next_to_maker(gradient, "norm", "reduce_l2", ReduceAttributes{}));
    }
    const Tensor factor = joint(replica, "clip_factor", norms);
    for (Gradient& gradient : gradients) {
      gradient.scaled = append(name_of(gradient, "clip"), "scale", {}, {gradient.scaled, factor},
                               graph_[index_of(gradient.update)]);
    }
  }

  std::string name_of(const Gradient& gradient, std::string_view what) const {
    return fmt::format("{}/{}{}", step_[index_of(gradient.update)].name, what,
                       gradient.number == 0 ? "" : fmt::format("_{}", gradient.number));
  }

  // Adds an op on the device of the op that makes a gradient, if the update had to be there, too.
  Tensor next_to_maker(const Gradient& gradient, std::string_view what, std::string_view kind,
                       Attributes attributes) {
    return append(name_of(gradient, what), kind, std::move(attributes), {gradient.scaled},
                  step_[index_of(gradient.update)]);
  }

  // Adds an op that reads one scalar of each gradient of a replica.
  Tensor joint(std::int32_t replica, std::string_view kind, const std::vector<Tensor>& scalars) {
    const Op of{.scope = gradients_.size() > 1 ? fmt::format("replica_{}", replica) : "",
                .replica = replica};
    return append(replica == 0 ? std::string(kind) : fmt::format("{}@{}", kind, replica), kind, {},
                  scalars, of);
  }

  // Adds an op of the update pass; label, scope and replica are those of `next_to`.
  Tensor append(std::string name, std::string_view kind, Attributes attributes,
                const std::vector<Tensor>& inputs, const Op& next_to) {
    Op op{.name = std::move(name),
          .phase = Phase::kUpdate,
          .colocation = next_to.colocation,
          .scope = next_to.scope,
          .replica = next_to.replica};
    operators::define(op, kind, std::move(attributes), values_of(graph_, inputs));
    return {append_op(graph_, std::move(op), inputs), 0};
  }

  const OpGraph& step_;
  const bool unscales_;
  const bool clips_;
  OpGraph graph_;
  std::map<std::int32_t, std::vector<Gradient>> gradients_;      // by replica
  std::map<std::pair<OpId, std::int32_t>, std::size_t> places_;  // among those
  std::map<std::int32_t, Tensor> checks_;                        // by replica
};

bool asks(const Params& params, std::string_view name, std::string_view value) {
  const auto found = params.values().find(name);
  return found != params.values().end() && params.get<std::string>(name) == value;
}

}  // namespace

ParamSpec clip_parameter() {
  return {.name = "clip",
          .default_value = false,
          .summary = "gradients are clipped by their global norm"};
}

ParamSpec loss_scaling_parameter() {
  return {.name = "loss-scaling",
          .default_value = std::string("static"),
          .choices = {"static", "dynamic"},
          .summary = "of float16; dynamic: gradients are unscaled and checked for overflows"};
}

bool scales_gradients(const OpGraph& step) {
  const auto ops = boost::make_iterator_range(boost::vertices(step));
  return std::any_of(ops.begin(), ops.end(), [&](auto op) {
    return step[op].kind == "clip_factor" || step[op].kind == "found_inf";
  });
}

void scale_gradients(OpGraph& step, const Params& params) {
  const bool unscales = asks(params, "loss-scaling", "dynamic");
  const bool clips = params.get<bool>("clip");
  const bool is_trained = !params.values().contains("training") || params.get<bool>("training");
  if (!is_trained || !(unscales || clips)) {
    return;
  }
  const std::string& name = step[boost::graph_bundle].name;
  if (unscales && !asks(params, "dtype", "float16")) {
    throw Error(ErrorCode::kUsage,
                fmt::format("graph {}: loss-scaling=dynamic needs dtype=float16", name));
  }
  if (scales_gradients(step)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("graph {}: the step scales its gradients already", name));
  }
  GradientScaling(step, unscales, clips).run().swap(step);
}

}  // namespace emplace
