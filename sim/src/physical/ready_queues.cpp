#include "ready_queues.hpp"

namespace emplace::physical {

ReadyQueues::ReadyQueues(const Problem& problem)
    : problem_(problem),
      by_critical_path_(problem.cluster().transfer_model == TransferModel::kPhysical &&
                        problem.cluster().queue_order == QueueOrder::kCriticalPath),
      priorities_(problem),
      is_heap_(by_critical_path_),
      queues_(problem.num_devices()),
      storage_(problem.num_ops()) {}

void ReadyQueues::reset(const Placement& placement,
                        IdSpan<DeviceId, const std::int32_t> num_ops_on) {
  priorities_.set(placement);
  is_heap_ = by_critical_path_ || priorities_.exist();
  Entry* begin = storage_.data();
  for (DeviceId device = 0; device < queues_.end_id(); ++device) {
    queues_[device] = {begin, begin};
    begin += num_ops_on[device];
  }
}

}  // namespace emplace::physical
