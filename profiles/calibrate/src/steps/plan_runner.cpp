#include "plan_runner.hpp"

#include <emplace/base/check.hpp>
#include <emplace/calibrate/cuda_device.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/profiles/op_key.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

namespace emplace::calibrate {
namespace {

bool is_gpu(const ComputeDevice* device) { return device->facts().kind == DeviceKind::kGpu; }

// Memory of `cpu`, pinned for GPUs: a cluster tells what copies of such memory take, and copies of
// pageable memory would hold up the thread that enqueues the step.
std::unique_ptr<Memory> pinned_block(ComputeDevice& cpu, ComputeDevice& gpu, std::int64_t bytes) {
  const std::unique_ptr<Memory> random = cpu.allocate(bytes, true);
  std::unique_ptr<Memory> pinned = gpu.allocate_on_host(bytes, true);
  std::memcpy(pinned->data(), random->data(), static_cast<std::size_t>(bytes));
  return pinned;
}

}  // namespace

struct PlanRunner::State {
  const ExecutionPlan& plan;
  IdVector<DeviceId, std::unique_ptr<Memory>> blocks{};      // null where nothing is held
  IdVector<DeviceId, std::unique_ptr<Memory>> workspaces{};  // ops of one follow one another
  IdVector<QueueId, std::unique_ptr<Queue>> queues{};
  std::vector<std::unique_ptr<OpProgram>> programs{};
  IdVector<ItemId, OpProgram*> program_of{};  // null for a copy
  IdVector<ItemId, OpBuffers> buffers{};
  IdVector<ItemId, bool> awaited{};  // another queue waits for it
  IdVector<ItemId, std::shared_ptr<Event>> ends{};
  std::unique_ptr<Recorded> recorded{};  // the whole step, where all devices are GPUs

  void* locate(const Address& address) const {
    const Memory* block = blocks[address.device].get();
    return block == nullptr ? nullptr : static_cast<std::byte*>(block->data()) + address.offset;
  }

  void compile(const OpGraph& graph, IdSpan<DeviceId, ComputeDevice* const> devices);
  void bind(const OpGraph& graph);
  void enqueue();
  void record();
  void finish();
};

// Ops that are alike share a program: what a queue runs, it runs one after the other.
void PlanRunner::State::compile(const OpGraph& graph,
                                IdSpan<DeviceId, ComputeDevice* const> devices) {
  using Key = std::tuple<QueueId, OpKey, std::vector<std::vector<std::int64_t>>>;
  std::map<Key, OpProgram*> known;
  IdVector<DeviceId, std::int64_t> workspace_bytes(devices.size(), 0);
  for (const WorkItem& item : plan.items) {
    if (item.kind == WorkItem::Kind::kCopy) {
      program_of.push_back(nullptr);
      continue;
    }
    const OpSite site = site_of(graph, item.op);
    Key key{item.queue, key_of(site.op), {}};
    for (const Output& input : site.inputs) {
      std::get<2>(key).push_back(input.shape);
    }
    OpProgram*& program = known[key];
    const DeviceId device = item.queue;
    if (program == nullptr) {
      programs.push_back(devices[device]->compile(site));
      program = programs.back().get();
      if (program == nullptr) {
        throw DeviceFailure(fmt::format("{}: nothing runs op '{}' of kind {}",
                                        devices[device]->facts().name, site.op.name, site.op.kind));
      }
      workspace_bytes[device] = std::max(workspace_bytes[device], program->workspace_bytes());
    }
    program_of.push_back(program);
  }
  const auto gpu = std::ranges::find_if(devices, is_gpu);
  for (DeviceId device = 0; device < devices.end_id(); ++device) {
    ComputeDevice& own = *devices[device];
    const std::int64_t bytes = plan.memory_bytes[device];
    if (bytes == 0) {
      blocks.push_back(nullptr);
    } else if (gpu != devices.end() && !is_gpu(&own)) {
      blocks.push_back(pinned_block(own, **gpu, bytes));
    } else {
      blocks.push_back(own.allocate(bytes, true));
    }
    workspaces.push_back(
        workspace_bytes[device] == 0 ? nullptr : own.allocate(workspace_bytes[device], false));
  }
}

void PlanRunner::State::bind(const OpGraph& graph) {
  awaited.assign(plan.items.size(), false);
  ends.resize(plan.items.size());
  for (const WorkItem& item : plan.items) {
    for (const ItemId before : item.after) {
      awaited[before] = true;
    }
    OpBuffers& bound = buffers.emplace_back();
    std::ranges::transform(item.inputs, std::back_inserter(bound.inputs),
                           [&](const Address& address) { return locate(address); });
    std::ranges::transform(item.outputs, std::back_inserter(bound.outputs),
                           [&](const Address& address) { return locate(address); });
    if (item.kind == WorkItem::Kind::kRun) {
      if (graph[index_of(item.op)].persistent_bytes > 0) {
        bound.state = locate(item.state);
      }
      if (const auto& workspace = workspaces[item.queue]) {
        bound.workspace = workspace->data();
      }
    }
  }
}

void PlanRunner::State::enqueue() {
  for (ItemId i = 0; i < plan.items.end_id(); ++i) {
    const WorkItem& item = plan.items[i];
    Queue& queue = *queues[item.queue];
    for (const ItemId before : item.after) {
      queue.wait(ends[before]);
    }
    if (item.kind == WorkItem::Kind::kRun) {
      queue.run(*program_of[i], buffers[i]);
    } else {
      queue.copy(buffers[i].outputs.front(), buffers[i].inputs.front(), item.bytes);
    }
    if (awaited[i]) {
      ends[i] = queue.record();
    }
  }
}

// The host launches once for the whole step, so that it never keeps GPUs waiting.
void PlanRunner::State::record() {
  std::vector<Queue*> all;
  std::ranges::transform(queues, std::back_inserter(all),
                         [](const auto& queue) { return queue.get(); });
  Recording recording(all);
  enqueue();
  recorded = recording.end();
}

void PlanRunner::State::finish() {
  for (const auto& queue : queues) {
    queue->finish();
  }
}

PlanRunner::PlanRunner(const OpGraph& graph, const ExecutionPlan& plan,
                       IdSpan<DeviceId, ComputeDevice* const> devices)
    : state_(new State{.plan = plan}) {
  EMPLACE_CHECK(plan.memory_bytes.size() == devices.size(), "a plan for {} devices, not {}",
                plan.memory_bytes.size(), devices.size());
  state_->compile(graph, devices);
  state_->bind(graph);
  for (const WorkQueue& queue : plan.queues) {
    // A copy is a GPU's work where one of its ends is a GPU.
    ComputeDevice& from = *devices[queue.device];
    ComputeDevice& to = *devices[queue.to];
    ComputeDevice& owner = is_gpu(&to) ? to : from;
    state_->queues.push_back((is_gpu(&from) ? from : owner).make_queue());
  }
  const bool all_gpus = std::ranges::all_of(devices, is_gpu);
  if (all_gpus && !plan.items.empty()) {
    state_->enqueue();  // libraries set themselves up at the first run, which can't be recorded
    state_->finish();
    state_->record();
  }
}

PlanRunner::~PlanRunner() = default;

std::vector<double> PlanRunner::run(std::int32_t warm_up, std::int32_t steps,
                                    const std::atomic<bool>* stop) {
  using Clock = std::chrono::steady_clock;
  const auto is_stopped = [&] { return stop != nullptr && *stop; };
  std::vector<double> times_us;
  for (std::int32_t step = 0; step < warm_up + steps && !is_stopped(); ++step) {
    const Clock::time_point begin = Clock::now();
    if (state_->recorded) {
      state_->recorded->replay();
    } else {
      state_->enqueue();
    }
    state_->finish();
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (step >= warm_up && !is_stopped()) {
      times_us.push_back(took.count());
    }
  }
  return times_us;
}

}  // namespace emplace::calibrate
