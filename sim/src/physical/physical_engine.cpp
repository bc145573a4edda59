#include "physical_engine.hpp"

#include <emplace/base/infinity.hpp>

#include <algorithm>
#include <functional>
#include <limits>

namespace emplace::physical {
namespace {

// Most instants have one event.
template <class Events, class Key = std::identity>
inline void sort_several(Events& events, Key key = {}) {
  if (events.size() > 1) {
    std::ranges::sort(events, {}, key);
  }
}

// Until when events belong to the instant that begins at `us` (rule 3): sums of the same times in
// another order differ by rounding, and ties must not depend on that.
double end_of_instant(double us) { return us + 1e-6 + us * 1e-12; }

bool is_grappler(const Problem& problem) {
  return problem.cluster().transfer_model == TransferModel::kGrappler;
}

}  // namespace

PhysicalEngine::PhysicalEngine(const Problem& problem, const CostTable& costs)
    : problem_(problem),
      costs_(costs),
      num_ops_(problem.num_ops()),
      num_devices_(problem.num_devices()),
      bytes_of_overhead_(is_grappler(problem) ? problem.cluster().grappler.latency_us *
                                                    problem.cluster().grappler.bytes_per_us
                                              : 0.0),
      min_bytes_(is_grappler(problem) ? 0.0 : 1.0),
      start_us_(problem.num_ops()),
      end_us_(problem.num_ops()),
      output_freed_us_(problem.num_outputs()),
      num_ops_in_(problem.num_groups()),
      launches_(problem),
      network_(problem.topology(), problem.num_devices(),
               static_cast<std::int32_t>(problem.uses().size())),
      transfers_(problem),
      memory_(problem),
      ready_(problem),
      free_slots_(problem.num_devices()),
      device_of_(problem.num_ops()),
      waiting_(problem.num_ops()),
      output_uses_(problem.num_outputs()),
      overwritten_(problem.num_ops()),
      num_ops_on_(problem.num_devices()) {
  for (DeviceId from = 0; from < num_devices_; ++from) {
    for (DeviceId to = 0; to < num_devices_; ++to) {
      latency_us_.push_back(problem.topology().latency_us(from, to));
    }
  }
  compile_ops();
  const std::size_t num_ops = start_us_.size();
  const std::size_t max_transfers = problem.uses().size();
  op_ends_.reserve(num_ops);
  delays_.reserve(max_transfers);
  batch_.ended_ops.reserve(num_ops);
  batch_.launched.reserve(num_ops);
  batch_.arrived.reserve(max_transfers);
  batch_.ended_flows.reserve(max_transfers);
  woken_.reserve(num_ops);
  idle_.reserve(2 * num_ops);
  result_.start_us = start_us_;
  result_.end_us = end_us_;
  result_.peak_bytes = memory_.peak_bytes();
}

// Inputs that stay at the end of an op are control edges and what its result is a view of.
void PhysicalEngine::compile_ops() {
  for (OpId op = 0; op < num_ops_; ++op) {
    const std::size_t first_input = inputs_to_free_.size();
    for (const UseId input : problem_.inputs(op)) {
      if (problem_.uses()[input].output != Dependency::kControl &&
          input != problem_.viewed_input(op)) {
        inputs_to_free_.push_back(input);
      }
    }
    const std::int64_t workspace_bytes = problem_.op(op).workspace_bytes;
    op_facts_.push_back({.workspace_bytes = workspace_bytes,
                         .start_bytes = problem_.allocated_bytes(op) + workspace_bytes,
                         .first_input = first_input,
                         .last_input = inputs_to_free_.size(),
                         .works_in_place = problem_.works_in_place(op)});
    num_inputs_.push_back(static_cast<std::int32_t>(problem_.inputs(op).size()));
    if (num_inputs_.back() == 0) {
      roots_.push_back(op);
    }
    ++num_ops_in_[problem_.grouping().group_of(op)];
  }
}

const SimResult& PhysicalEngine::run(const Placement& placement, double cutoff_us) {
  reset(placement);
  for (;;) {
    queue_woken_ops();
    dispatch();
    if (network_.has_changed()) {
      network_.share(now_us_);
    }
    const double next_us = take_next_events();
    if (next_us > now_us_) {  // else this instant goes on, with ops that took no time
      memory_.end_instant();
    }
    if (next_us == kInfinity) {
      break;
    }
    now_us_ = next_us;
    if (now_us_ >= cutoff_us) {  // what happens now leads to the end of an op
      cut_off(result_, now_us_, cutoff_us);
      return result_;
    }
    for (const OpId op : batch_.ended_ops) {
      finish_op(op);
    }
    for (const OpId op : batch_.launched) {
      wake(op);
    }
    for (const Network::Ended& flow : batch_.ended_flows) {
      deliver(flow.flow, flow.at_us);
    }
    for (const TransferId transfer : batch_.arrived) {
      enter_network(transfer);
    }
    if (num_sent_ < transfers_.end_id()) {
      start_transfers();
    }
  }
  cut_off(result_, *std::max_element(end_us_.begin(), end_us_.end()), cutoff_us);
  memory_.finish();
  compare_with_capacity(problem_, result_);
  return result_;
}

void PhysicalEngine::reset(const Placement& placement) {
  std::fill(num_ops_on_.begin(), num_ops_on_.end(), 0);
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    num_ops_on_[placement[group]] += num_ops_in_[group];
  }
  for (DeviceId device = 0; device < num_devices_; ++device) {
    free_slots_[device] = problem_.slots(device);
  }
  for (OpId op = 0; op < num_ops_; ++op) {
    device_of_[op] = placement[problem_.grouping().group_of(op)];
  }
  std::copy(num_inputs_.begin(), num_inputs_.end(), waiting_.begin());
  woken_.assign(roots_.begin(), roots_.end());
  if (launches_.exist()) {
    launches_.set(placement);
    for (OpId op = 0; op < num_ops_; ++op) {
      waiting_[op] += launches_.at_us(op) > 0 ? 1 : 0;
    }
    std::erase_if(woken_, [this](OpId op) { return waiting_[op] > 0; });
  }
  std::fill(overwritten_.begin(), overwritten_.end(), Problem::kNoUse);
  now_us_ = 0;
  op_ends_.clear();
  delays_.clear();
  network_.reset();
  transfers_.clear();
  num_sent_ = 0;
  memory_.start(placement);
  ready_.reset(placement, num_ops_on_);
}

// Advances to the next instant: takes out all events that belong to it, in the order of ids, and
// returns when the last of them happens; infinity if there is none.
inline double PhysicalEngine::take_next_events() {
  const double flow_us = network_.next_end_us();
  const double first_us =
      std::min({op_ends_.next_us(), delays_.next_us(), flow_us, launches_.next_us()});
  if (first_us == kInfinity) {
    return kInfinity;
  }
  const double until_us = end_of_instant(first_us);
  double last_us = op_ends_.take(until_us, first_us, batch_.ended_ops);
  last_us = delays_.take(until_us, last_us, batch_.arrived);
  batch_.launched.clear();
  while (launches_.next_us() <= until_us) {
    last_us = std::max(last_us, launches_.next_us());
    batch_.launched.push_back(launches_.take());
  }
  batch_.ended_flows.clear();
  if (flow_us <= until_us) {
    network_.take_ended(until_us, batch_.ended_flows);
    for (const Network::Ended& flow : batch_.ended_flows) {
      last_us = std::max(last_us, flow.at_us);
    }
    sort_several(batch_.ended_flows, &Network::Ended::flow);
  }
  return last_us;
}

// Counts off one input of an op, or its launch, and marks it as ready after the last.
inline void PhysicalEngine::wake(OpId op) {
  if (--waiting_[op] == 0) {
    woken_.push_back(op);
  }
}

// Counts off one use of an output on its producer's device, and frees it after the last, with what
// it is a view of. Not a recursion: a file may hold any number of views of views.
inline void PhysicalEngine::release_output(OpId producer, OutputId output, DeviceId device) {
  while (--output_uses_[output] == 0) {
    output_freed_us_[output] = now_us_;
    memory_.free(device, problem_.output_allocated_bytes(output));
    const UseId viewed = problem_.viewed_input(producer);
    if (viewed == Problem::kNoUse) {
      return;
    }
    if (transfers_.transfer_of(viewed) != TransferTable::kNone) {
      free_input(viewed, device);
      return;
    }
    producer = problem_.uses()[viewed].producer;
    output = problem_.uses()[viewed].output;
  }
}

// Frees what the op used, and wakes those that waited for it on its device (rules 1 and 4).
void PhysicalEngine::finish_op(OpId op) {
  const DeviceId device = device_of_[op];
  ++free_slots_[device];
  if (!ready_.is_empty(device)) {
    idle_.push_back(device);
  }
  memory_.free(device, op_facts_[op].workspace_bytes);
  free_inputs(op, device);
  send_outputs(op, device);
}

// What the op wrote over is not its input any more.
inline void PhysicalEngine::free_inputs(OpId op, DeviceId device) {
  const OpFacts& facts = op_facts_[op];
  for (std::size_t at = facts.first_input; at < facts.last_input; ++at) {
    if (inputs_to_free_[at] != overwritten_[op]) {
      free_input(inputs_to_free_[at], device);
    }
  }
}

// Counts off one use of an output, or of its copy, on the device of the consumer.
inline void PhysicalEngine::free_input(UseId input, DeviceId device) {
  const Problem::Use& use = problem_.uses()[input];
  if (transfers_.transfer_of(input) == TransferTable::kNone) {
    release_output(use.producer, use.output, device);
    return;
  }
  TransferState& transfer = transfers_[transfers_.transfer_of(input)];
  if (--transfer.consumers == 0) {
    transfer.freed_us = now_us_;
    memory_.free(device, problem_.output_bytes(use.output));
  }
}

// Says whether nothing but the consumer of `input` will read the memory in which that is.
bool PhysicalEngine::is_last_to_use(UseId input) const {
  while (input != Problem::kNoUse) {
    const Problem::Use& use = problem_.uses()[input];
    if (transfers_.transfer_of(input) != TransferTable::kNone) {
      return transfers_.all()[transfers_.transfer_of(input)].consumers == 1;
    }
    if (output_uses_[use.output] != 1) {
      return false;
    }
    input = problem_.viewed_input(use.producer);
  }
  return true;
}

// Frees the input over which an op that starts writes its result.
void PhysicalEngine::overwrite_input(OpId op, DeviceId device) {
  for (const UseId input : problem_.inputs(op)) {
    if (problem_.may_overwrite(op, input) && is_last_to_use(input)) {
      overwritten_[op] = input;
      free_input(input, device);
      return;
    }
  }
}

// Wakes the consumers of each output that are on the op's device, and makes the transfers to
// others.
inline void PhysicalEngine::send_outputs(OpId op, DeviceId device) {
  auto [use, last_use] = problem_.uses_of(op);
  const auto [first_output, last_output] = problem_.outputs(op);
  for (OutputId output = first_output; output < last_output; ++output) {
    output_uses_[output] = transfers_.send(output, use, last_use, op, device_of_, now_us_,
                                           [this](OpId consumer) { wake(consumer); });
    if (output_uses_[output] == 0) {  // no op reads it
      output_uses_[output] = 1;
      release_output(op, output, device);
    }
  }
  for (; use < last_use; ++use) {  // control edges
    wake(problem_.uses()[use].consumer);
  }
}

void PhysicalEngine::deliver(TransferId transfer, double at_us) {
  TransferState& delivered = transfers_[transfer];
  delivered.end_us = at_us;
  release_output(delivered.producer, delivered.output, delivered.from);
  std::int32_t left = delivered.consumers;
  for (UseId use = delivered.first_use; left > 0; ++use) {
    if (transfers_.transfer_of(use) == transfer) {
      wake(problem_.uses()[use].consumer);
      --left;
    }
  }
}

void PhysicalEngine::enter_network(TransferId transfer) {
  const TransferState& arrived = transfers_[transfer];
  const double bytes =
      static_cast<double>(problem_.output_bytes(arrived.output)) + bytes_of_overhead_;
  if (bytes < min_bytes_) {
    deliver(transfer, now_us_);
  } else {
    network_.add(transfer, arrived.from, arrived.to, bytes, now_us_);
  }
}

// Starts the transfers of the outputs that were handed on: takes memory for the copies, and lets
// the latencies of the routes pass (rules 2 and 4).
void PhysicalEngine::start_transfers() {
  for (const TransferId end = transfers_.end_id(); num_sent_ < end; ++num_sent_) {
    const TransferState& sent = transfers_[num_sent_];
    memory_.allocate(sent.to, problem_.output_bytes(sent.output));
    const double latency_us = latency_us_[sent.from * num_devices_ + sent.to];
    if (latency_us > 0) {
      delays_.push(now_us_ + latency_us, num_sent_);
    } else {
      enter_network(num_sent_);
    }
  }
}

// Puts the ops that became ready at this instant into the queues of their devices.
inline void PhysicalEngine::queue_woken_ops() {
  sort_several(woken_);
  for (const OpId op : woken_) {
    const DeviceId device = device_of_[op];
    ready_.push(device, op, now_us_);
    if (free_slots_[device] > 0) {
      idle_.push_back(device);
    }
  }
  woken_.clear();
}

inline void PhysicalEngine::dispatch() {
  for (const DeviceId device : idle_) {
    while (free_slots_[device] > 0 && !ready_.is_empty(device)) {
      --free_slots_[device];
      start_op(device, ready_.pop(device));
    }
  }
  idle_.clear();
}

inline void PhysicalEngine::start_op(DeviceId device, OpId op) {
  const OpFacts& facts = op_facts_[op];
  start_us_[op] = now_us_;
  end_us_[op] =
      now_us_ + (problem_.launch_us(op, device) + costs_(op, device) + problem_.gap_us(op));
  op_ends_.push(end_us_[op], op);
  if (facts.works_in_place) {
    overwrite_input(op, device);
  }
  memory_.allocate(device, facts.start_bytes);
}

StepRecord PhysicalEngine::describe(const Placement& placement) {
  StepRecord record = record_of(placement, result_);
  add_transfers(record);
  add_allocations(record);
  return record;
}

void PhysicalEngine::add_transfers(StepRecord& record) const {
  for (const TransferState& transfer : transfers_.all()) {
    record.transfers.push_back({.producer = transfer.producer,
                                .output = transfer.output,
                                .from = transfer.from,
                                .to = transfer.to,
                                .wanted_us = transfer.start_us,
                                .start_us = transfer.start_us,
                                .end_us = transfer.end_us});
  }
}

void PhysicalEngine::add_allocations(StepRecord& record) const {
  for (const TransferState& transfer : transfers_.all()) {
    record.allocations.push_back({.op = transfer.producer,
                                  .output = transfer.output,
                                  .kind = Allocation::Kind::kCopy,
                                  .device = transfer.to,
                                  .from_us = transfer.start_us,
                                  .until_us = transfer.freed_us,
                                  .bytes = problem_.output_bytes(transfer.output)});
  }
  for (OpId op = 0; op < num_ops_; ++op) {
    const auto [begin, end] = problem_.outputs(op);
    for (OutputId output = begin; output < end; ++output) {
      record.allocations.push_back({.op = op,
                                    .output = output,
                                    .kind = Allocation::Kind::kOutput,
                                    .device = device_of_[op],
                                    .from_us = start_us_[op],
                                    .until_us = output_freed_us_[output],
                                    .bytes = problem_.output_allocated_bytes(output)});
    }
    record.allocations.push_back({.op = op,
                                  .output = Allocation::kAllOutputs,
                                  .kind = Allocation::Kind::kWorkspace,
                                  .device = device_of_[op],
                                  .from_us = start_us_[op],
                                  .until_us = end_us_[op],
                                  .bytes = op_facts_[op].workspace_bytes});
  }
}

}  // namespace emplace::physical
