#include "transfer_plan.hpp"

#include <algorithm>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

TransferPlan::TransferPlan(const Problem& problem) : problem_(problem) {
  const auto uses = problem.uses();
  const std::size_t num_outputs = index(problem.num_outputs());
  source_of_use_.resize(uses.size());
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    OpPlan plan{};
    plan.first_source = static_cast<std::int32_t>(sources_.size());
    for (const std::int32_t use : problem.inputs(op)) {
      source_of_use_[index(use)] = static_cast<std::int32_t>(sources_.size());
      sources_.push_back(uses[index(use)].producer);
    }
    plan.last_source = static_cast<std::int32_t>(sources_.size());
    ops_.push_back(plan);
  }
  num_users_.resize(num_outputs + uses.size() + 1);
  held_.resize(sources_.size(), static_cast<std::int32_t>(num_users_.size() - 1));
  made_.resize(uses.size());
  added_.reserve(uses.size());
  persistent_bytes_.resize(index(problem.num_devices()));
  num_ops_on_.resize(index(problem.num_devices()));
  uses_of_output_.resize(num_outputs, {0, 0});
  for (std::int32_t use = 0; index(use) < uses.size(); ++use) {
    if (uses[index(use)].output != Dependency::kControl) {
      auto& [begin, end] = uses_of_output_[index(uses[index(use)].output)];
      begin = end == 0 ? use : begin;
      end = use + 1;
    }
  }
  transfer_to_.resize(index(problem.num_devices()), kNone);
  moved_.reserve(ops_.size());
  touched_.reserve(num_outputs);
  is_touched_.resize(num_outputs);
}

void TransferPlan::place(OpId op, DeviceId device) {
  ops_[index(op)].device = device;
  ops_[index(op)].busy_us = problem_.busy_us(op, device);
}

void TransferPlan::set(const Placement& placement) {
  std::fill(persistent_bytes_.begin(), persistent_bytes_.end(), 0);
  std::fill(num_ops_on_.begin(), num_ops_on_.end(), 0);
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    persistent_bytes_[index(placement[group])] += problem_.group_persistent_bytes(group);
    num_ops_on_[index(placement[group])] += problem_.grouping().members(group).size();
  }
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    place(op, placement[problem_.grouping().group_of(op)]);
  }
  for (std::int32_t output = 0; output < problem_.num_outputs(); ++output) {
    route(output);
  }
  added_.clear();
}

void TransferPlan::move(GroupId group, DeviceId device) {
  const auto members = problem_.grouping().members(group);
  const std::int64_t bytes = problem_.group_persistent_bytes(group);
  const DeviceId before = ops_[index(members.front())].device;
  persistent_bytes_[index(before)] -= bytes;
  persistent_bytes_[index(device)] += bytes;
  num_ops_on_[index(before)] -= members.size();
  num_ops_on_[index(device)] += members.size();
  for (const OpId op : members) {
    place(op, device);
    moved_.push_back(op);
  }
}

void TransferPlan::update() {
  added_.clear();
  for (const OpId op : moved_) {
    const auto [begin, end] = problem_.outputs(op);
    for (std::int32_t output = begin; output < end; ++output) {
      touch(output);
    }
    for (const std::int32_t input : problem_.inputs(op)) {
      if (use(input).output != Dependency::kControl) {
        touch(use(input).output);
      }
    }
  }
  for (const std::int32_t output : touched_) {
    is_touched_[index(output)] = 0;
    route(output);
  }
  moved_.clear();
  touched_.clear();
}

void TransferPlan::touch(std::int32_t output) {
  if (is_touched_[index(output)] == 0) {
    is_touched_[index(output)] = 1;
    touched_.push_back(output);
  }
}

// Finds the transfers of an output, and lets its consumers wait for them or for the producer.
void TransferPlan::route(std::int32_t output) {
  const auto [begin, end] = uses_of_output_[index(output)];
  std::int32_t num_users = 0;
  for (std::int32_t id = begin; id < end; ++id) {
    num_users_[index(copy(id))] = 0;
  }
  for (std::int32_t id = begin; id < end; ++id) {
    const std::size_t at = index(source_of_use_[index(id)]);
    const DeviceId to = ops_[index(use(id).consumer)].device;
    if (to == ops_[index(use(id).producer)].device) {
      sources_[at] = use(id).producer;
      held_[at] = output;
      ++num_users;
      set_made(id, false);
      continue;
    }
    std::int32_t& transfer = transfer_to_[index(to)];
    const bool is_first = transfer == kNone;
    if (is_first) {
      transfer = id;
      ++num_users;
    }
    set_made(id, is_first);
    sources_[at] = problem_.num_ops() + transfer;
    held_[at] = copy(transfer);
    ++num_users_[index(copy(transfer))];
  }
  num_users_[index(output)] = num_users;
  for (std::int32_t id = begin; id < end; ++id) {
    transfer_to_[index(ops_[index(use(id).consumer)].device)] = kNone;
  }
}

void TransferPlan::set_made(std::int32_t transfer, bool is_made) {
  if (this->is_made(transfer) != is_made) {
    made_[index(transfer)] = is_made ? 1 : 0;
    ops_[index(use(transfer).producer)].num_sent += is_made ? 1 : -1;
    if (is_made) {
      added_.push_back(transfer);
    }
  }
}

}  // namespace emplace
