#include "activity_records.hpp"

#include <bit>

namespace emplace::calibrate {
namespace {

// A version of CUPTI: a count until CUDA 12.9 Update 1, then digits xxyyzz.
constexpr std::uint32_t kCuda12_3 = 21;

// NVIDIA adds fields at the end of a record, or in its padding, so the oldest type of a record that
// has the fields fits all later versions, whichever the headers are of.
template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

template <class Record>
void add_work(ActivityLog& log, const CUpti_Activity& any) {
  const auto& record = as<Record>(any);
  if (record.start == 0 || record.end < record.start) {
    log.untimed.push_back(record.correlationId);
  } else {
    log.work.push_back({.start_ns = record.start,
                        .end_ns = record.end,
                        .device = record.deviceId,
                        .correlation = record.correlationId});
  }
}

void add_link(ActivityLog& log, const CUpti_ActivityExternalCorrelation& record) {
  if (record.externalKind == kExternalKind) {
    log.links.push_back({.external_id = record.externalId, .correlation = record.correlationId});
  }
}

void add_device(ActivityLog& log, const CUpti_ActivityDevice5& record) {
  log.devices.push_back({.device = record.id,
                         .uuid = std::bit_cast<DeviceUuid>(record.uuid),
                         .memory_kbytes_per_second = record.globalMemoryBandwidth,
                         .memory_bytes = record.globalMemorySize,
                         .l2_bytes = record.l2CacheSize,
                         .core_khz = record.coreClockRate,
                         .copy_engines = record.numMemcpyEngines,
                         .multiprocessors = record.numMultiprocessors});
}

void add_pcie(ActivityLog& log, const CUpti_ActivityPcie& record) {
  if (record.type == CUPTI_PCIE_DEVICE_TYPE_GPU) {
    log.pcie.push_back({.device = static_cast<std::uint32_t>(record.id.devId),
                        .generation = record.pcieGeneration,
                        .lanes = record.linkWidth});
  }
}

void add_nvlink(ActivityLog& log, const CUpti_ActivityNvLink4& record) {
  const auto end = [](CUpti_DevType type, const auto& id) {
    return type == CUPTI_DEV_TYPE_GPU
               ? NvlinkActivity::End{.gpu = true, .uuid = std::bit_cast<DeviceUuid>(id.uuidDev)}
               : NvlinkActivity::End{.index = id.npu.index};
  };
  log.nvlinks.push_back({.first = end(record.typeDev0, record.idDev0),
                         .second = end(record.typeDev1, record.idDev1),
                         .links = record.physicalNvLinkCount,
                         .kbytes_per_second = record.bandwidth,
                         .through_switch = record.nvswitchConnected != 0});
}

}  // namespace

bool knows_cupti(std::uint32_t version) { return version >= kCuda12_3; }

void add_record(ActivityLog& log, const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return add_work<CUpti_ActivityKernel9>(log, record);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add_work<CUpti_ActivityMemcpy5>(log, record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return add_work<CUpti_ActivityMemcpyPtoP4>(log, record);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add_work<CUpti_ActivityMemset4>(log, record);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return add_link(log, as<CUpti_ActivityExternalCorrelation>(record));
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return add_device(log, as<CUpti_ActivityDevice5>(record));
    case CUPTI_ACTIVITY_KIND_PCIE:
      return add_pcie(log, as<CUpti_ActivityPcie>(record));
    case CUPTI_ACTIVITY_KIND_NVLINK:
      return add_nvlink(log, as<CUpti_ActivityNvLink4>(record));
    default:  // calls, for which links need to be recorded
      return;
  }
}

}  // namespace emplace::calibrate
