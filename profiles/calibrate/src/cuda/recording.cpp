#include "cuda_check.hpp"
#include "cuda_queue.hpp"

#include <emplace/base/check.hpp>
#include <emplace/calibrate/cuda_device.hpp>

#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

class RecordedGraph final : public Recorded {
 public:
  RecordedGraph(cudaGraph_t graph, CudaQueue& queue) : graph_(graph), queue_(queue) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph_, 0);
    if (status != cudaSuccess) {
      cudaGraphDestroy(graph_);
      check_cuda(status, "cudaGraphInstantiate");
    }
  }
  ~RecordedGraph() override {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;

  void replay() override {
    queue_.part().activate();
    check_cuda(cudaGraphLaunch(executable_, queue_.stream()), "cudaGraphLaunch");
  }

 private:
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
  CudaQueue& queue_;
};

}  // namespace

// CUDA records one stream, and each that waits for an event of a recorded one. So all others wait
// for the first at the beginning, and it waits for all of them at the end.
struct Recording::State {
  std::vector<CudaQueue*> queues{};

  // Returns what was recorded.
  cudaGraph_t end() {
    const auto ended = std::exchange(queues, {});
    for (CudaQueue* queue : ended) {
      queue->set_recording(false);
    }
    cudaGraph_t graph = nullptr;
    ended[0]->part().activate();
    check_cuda(cudaStreamEndCapture(ended[0]->stream(), &graph), "cudaStreamEndCapture");
    return graph;
  }
};

Recording::Recording(std::span<Queue* const> queues) : state_(std::make_unique<State>()) {
  EMPLACE_CHECK(!queues.empty(), "nothing to record");
  for (Queue* queue : queues) {
    auto* found = dynamic_cast<CudaQueue*>(queue);
    EMPLACE_CHECK(found != nullptr, "a queue of another kind of device can't be recorded");
    // What libraries set up on first use is no part of the step.
    found->cublas();
    found->cudnn();
    state_->queues.push_back(found);
  }
  CudaQueue& first = *state_->queues[0];
  first.part().activate();
  check_cuda(cudaStreamBeginCapture(first.stream(), cudaStreamCaptureModeRelaxed),
             "cudaStreamBeginCapture");
  for (CudaQueue* queue : state_->queues) {
    queue->set_recording(true);
  }
  const std::shared_ptr<Event> begin = first.record();
  for (CudaQueue* queue : state_->queues) {
    if (queue != &first) {
      queue->wait(begin);
    }
  }
}

Recording::~Recording() {
  if (!state_->queues.empty()) {
    try {
      cudaGraphDestroy(state_->end());
    } catch (const DeviceFailure&) {
      // Streams whose ends were not joined make no graph; there is none to drop then.
    }
  }
}

std::unique_ptr<Recorded> Recording::end() {
  EMPLACE_CHECK(!state_->queues.empty(), "a recording ends once");
  CudaQueue& first = *state_->queues[0];
  for (CudaQueue* queue : state_->queues) {
    if (queue != &first) {
      first.wait(queue->record());
    }
  }
  return std::make_unique<RecordedGraph>(state_->end(), first);
}

}  // namespace emplace::calibrate
