#include "batch_division.hpp"

#include "transforms/gradient_scaling.hpp"
#include "transforms/same_network.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/micro_batches.hpp>
#include <emplace/graphs/recomputation.hpp>
#include <emplace/graphs/replicas.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace emplace {
namespace {

using Step = std::function<OpGraph(std::int64_t)>;

// Returns the step of a batch in `count` parts, which are called `parts`.
OpGraph in_parts(std::int64_t batch, std::int64_t count, std::string_view parts, const Step& step,
                 const std::function<OpGraph(Parts)>& join) {
  if (count == 1) {
    return step(batch);
  }
  if (count > batch) {
    throw Error(ErrorCode::kUsage,
                fmt::format("graph {}: {} is {}, expected at most the batch, {}",
                            step(1)[boost::graph_bundle].name, parts, count, batch));
  }
  const std::int64_t smaller = batch / count;
  const std::int64_t num_larger = batch % count;
  const OpGraph part = step(smaller);
  const OpGraph larger_part = num_larger == 0 ? OpGraph() : step(smaller + 1);
  std::vector<std::reference_wrapper<const OpGraph>> all(static_cast<std::size_t>(count), part);
  std::fill_n(all.begin(), num_larger, std::cref(larger_part));
  OpGraph graph = join(all);
  if (num_larger > 0) {
    graph[boost::graph_bundle].warnings.push_back(
        fmt::format("The batch of {} does not divide into {} {}: {} have {} examples, {} have {}.",
                    batch, count, parts, num_larger, smaller + 1, count - num_larger, smaller));
  }
  return graph;
}

MicroBatchSchedule schedule_of(const Params& params) {
  using enum MicroBatchSchedule::Order;
  const auto& name = params.get<std::string>("schedule");
  return {.order = name == "1f1b"          ? kOneForwardOneBackward
                   : name == "zero-bubble" ? kZeroBubble
                   : name == "gpipe"       ? kGPipe
                                           : kAsReady,
          .in_flight = params.get<std::int64_t>("in-flight")};
}

}  // namespace

std::vector<ParamSpec> batch_division_parameters() {
  return {whole_number("replicas", 1, 1, 4096,
                       "copies of the network, each with its part of the batch; their gradients "
                       "are added up by rings"),
          whole_number("micro-batches", 1, 1, 65536,
                       "parts of the batch that pass through the devices one after the other; "
                       "their gradients are added up"),
          {.name = "schedule",
           .default_value = std::string("1f1b"),
           .choices = {"1f1b", "zero-bubble", "gpipe", "as-ready"},
           .summary = "which micro-batch a device takes of those that are ready: backward passes "
                      "first; so, but gradients of weights last; all forward passes before any "
                      "backward pass; or what is ready first"},
          whole_number("in-flight", 0, 0, 65536,
                       "how many micro-batches may be between the start of their forward and the "
                       "end of their backward pass, which limits memory; 0: all")};
}

bool divides_batch(const Params& params) {
  return params.get<std::int64_t>("replicas") > 1 || params.get<std::int64_t>("micro-batches") > 1;
}

OpGraph divide_batch(const Params& params, std::int64_t batch, const Step& step) {
  const MicroBatchSchedule schedule = schedule_of(params);
  if (schedule.order == MicroBatchSchedule::Order::kGPipe && schedule.in_flight > 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("graph {}: in-flight is {}, but with schedule=gpipe all micro-batches "
                            "are in flight",
                            step(1)[boost::graph_bundle].name, schedule.in_flight));
  }
  const auto in_micro_batches = [&](std::int64_t examples) {
    return in_parts(examples, params.get<std::int64_t>("micro-batches"), "micro-batches", step,
                    [&](Parts parts) { return micro_batches(step(examples), parts, schedule); });
  };
  OpGraph whole = in_parts(batch, params.get<std::int64_t>("replicas"), "replicas",
                           in_micro_batches, [](Parts parts) { return replicas(parts); });
  scale_gradients(whole, params);
  return whole;
}

OpGraph divide_batch(const Params& params, const std::function<OpGraph(const Params&)>& step) {
  return divide_batch(params, params.get<std::int64_t>("batch"), [&](std::int64_t examples) {
    Params part = params;
    part.set("batch", examples);
    return step(part);
  });
}

std::vector<ParamSpec> batch_repetition_parameters() {
  std::vector<ParamSpec> parameters = batch_division_parameters();
  parameters[0].summary =
      "copies of the network, each with a batch of the file; their gradients are added up by rings";
  parameters[1].summary =
      "batches of the file that pass through the devices one after the other; their gradients are "
      "added up";
  parameters.insert(parameters.begin(), {clip_parameter(), recompute_parameter()});
  return parameters;
}

OpGraph repeat_batch(const Params& params, OpGraph step, const std::string& source) {
  try {
    step = recompute(std::move(step), params.get<std::string>("recompute"));
    if (!divides_batch(params)) {
      scale_gradients(step, params);
      return step;
    }
    if (scales_gradients(step)) {
      throw Error(ErrorCode::kUsage,
                  "the step scales its gradients already, which parts of it would do alone");
    }
    for (const auto op : boost::make_iterator_range(boost::vertices(step))) {
      if (step[op].micro_batch > 0 || step[op].replica > 0) {
        throw Error(ErrorCode::kUsage, "the step has replicas or micro-batches already");
      }
    }
    const std::int64_t batches =
        params.get<std::int64_t>("replicas") * params.get<std::int64_t>("micro-batches");
    return divide_batch(params, batches, [&](std::int64_t) { return step; });
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", source, error.what()));
  }
}

}  // namespace emplace
