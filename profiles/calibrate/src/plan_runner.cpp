#include <emplace/calibrate/cuda_device.hpp>
#include <emplace/calibrate/plan_runner.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/profiles/op_key.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

namespace emplace::calibrate {

struct PlanRunner::State {
  const WorkPlan& plan;
  std::vector<std::unique_ptr<Memory>> blocks{};      // by device; null where nothing is held
  std::vector<std::unique_ptr<Memory>> workspaces{};  // by device: its ops run one after the other
  std::vector<std::unique_ptr<Queue>> queues{};       // as in the plan
  std::vector<std::unique_ptr<OpProgram>> programs{};
  std::vector<OpProgram*> program_of{};  // by item; null for a copy
  std::vector<OpBuffers> buffers{};      // by item
  std::vector<bool> awaited{};           // by item: another queue waits for it
  std::vector<std::shared_ptr<Event>> ends{};
  std::unique_ptr<Recorded> recorded{};  // the whole step, where all devices are GPUs

  void* address(const Place& place) const {
    const Memory* block = blocks[static_cast<std::size_t>(place.device)].get();
    return block == nullptr ? nullptr : static_cast<std::byte*>(block->data()) + place.offset;
  }

  void compile(const OpGraph& graph, std::span<ComputeDevice* const> devices);
  void bind(const OpGraph& graph);
  void enqueue();
  void record();
  void finish();
};

// Ops that are alike share a program: what a queue runs, it runs one after the other.
void PlanRunner::State::compile(const OpGraph& graph, std::span<ComputeDevice* const> devices) {
  using Key = std::tuple<std::int32_t, OpKey, std::vector<std::vector<std::int64_t>>>;
  std::map<Key, OpProgram*> known;
  std::vector<std::int64_t> workspace_bytes(devices.size(), 0);
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
    const auto device = static_cast<std::size_t>(item.queue);
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
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const auto allocate = [&](std::int64_t bytes, bool random) {
      return bytes == 0 ? nullptr : devices[device]->allocate(bytes, random);
    };
    blocks.push_back(allocate(plan.memory_bytes[device], true));
    workspaces.push_back(allocate(workspace_bytes[device], false));
  }
}

void PlanRunner::State::bind(const OpGraph& graph) {
  awaited.assign(plan.items.size(), false);
  ends.resize(plan.items.size());
  for (const WorkItem& item : plan.items) {
    for (const std::int32_t before : item.after) {
      awaited[static_cast<std::size_t>(before)] = true;
    }
    OpBuffers& bound = buffers.emplace_back();
    std::ranges::transform(item.inputs, std::back_inserter(bound.inputs),
                           [&](const Place& place) { return address(place); });
    std::ranges::transform(item.outputs, std::back_inserter(bound.outputs),
                           [&](const Place& place) { return address(place); });
    if (item.kind == WorkItem::Kind::kRun) {
      if (graph[static_cast<std::size_t>(item.op)].persistent_bytes > 0) {
        bound.state = address(item.state);
      }
      if (const auto& workspace = workspaces[static_cast<std::size_t>(item.queue)]) {
        bound.workspace = workspace->data();
      }
    }
  }
}

void PlanRunner::State::enqueue() {
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const WorkItem& item = plan.items[i];
    Queue& queue = *queues[static_cast<std::size_t>(item.queue)];
    for (const std::int32_t before : item.after) {
      queue.wait(ends[static_cast<std::size_t>(before)]);
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

PlanRunner::PlanRunner(const OpGraph& graph, const WorkPlan& plan,
                       std::span<ComputeDevice* const> devices)
    : state_(std::make_unique<State>(plan)) {
  EMPLACE_CHECK(plan.memory_bytes.size() == devices.size(), "a plan for {} devices, not {}",
                plan.memory_bytes.size(), devices.size());
  state_->compile(graph, devices);
  state_->bind(graph);
  for (const WorkQueue& queue : plan.queues) {
    // A copy is a GPU's work where one of its ends is a GPU.
    ComputeDevice& from = *devices[static_cast<std::size_t>(queue.device)];
    ComputeDevice& to = *devices[static_cast<std::size_t>(queue.to)];
    ComputeDevice& owner = to.facts().kind == DeviceKind::kGpu ? to : from;
    state_->queues.push_back((from.facts().kind == DeviceKind::kGpu ? from : owner).make_queue());
  }
  const bool all_gpus = std::ranges::all_of(devices, [](const ComputeDevice* device) {
    return device->facts().kind == DeviceKind::kGpu;
  });
  if (all_gpus && !plan.items.empty()) {
    state_->enqueue();  // libraries set themselves up at the first run, which can't be recorded
    state_->finish();
    state_->record();
  }
}

PlanRunner::~PlanRunner() = default;

std::vector<double> PlanRunner::run(std::int32_t warm_up, std::int32_t steps) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times_us;
  for (std::int32_t step = 0; step < warm_up + steps; ++step) {
    const Clock::time_point begin = Clock::now();
    if (state_->recorded) {
      state_->recorded->replay();
    } else {
      state_->enqueue();
    }
    state_->finish();
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (step >= warm_up) {
      times_us.push_back(took.count());
    }
  }
  return times_us;
}

}  // namespace emplace::calibrate
