// Compares our copy of CUPTI's layouts with the headers of CUDA 13.0, where they are; other headers
// have other records. There is nothing here to run.

#include "record_layout.hpp"
#include "record_sizes.hpp"

#include <emplace/calibrate/activity.hpp>

#include <cuda.h>
#include <cupti.h>

#if CUPTI_API_VERSION >= 130000 && CUPTI_API_VERSION < 130100

namespace emplace::calibrate {
namespace {

#define EMPLACE_SAME(offset, record, field) \
  static_assert((offset) == offsetof(record, field), #field)

EMPLACE_SAME(kernel_at::kRegistersPerThread, CUpti_ActivityKernel10, registersPerThread);
EMPLACE_SAME(kernel_at::kStart, CUpti_ActivityKernel10, start);
EMPLACE_SAME(kernel_at::kEnd, CUpti_ActivityKernel10, end);
EMPLACE_SAME(kernel_at::kDevice, CUpti_ActivityKernel10, deviceId);
EMPLACE_SAME(kernel_at::kContext, CUpti_ActivityKernel10, contextId);
EMPLACE_SAME(kernel_at::kStream, CUpti_ActivityKernel10, streamId);
EMPLACE_SAME(kernel_at::kGrid, CUpti_ActivityKernel10, gridX);
EMPLACE_SAME(kernel_at::kBlock, CUpti_ActivityKernel10, blockX);
EMPLACE_SAME(kernel_at::kStaticShared, CUpti_ActivityKernel10, staticSharedMemory);
EMPLACE_SAME(kernel_at::kDynamicShared, CUpti_ActivityKernel10, dynamicSharedMemory);
EMPLACE_SAME(kernel_at::kCorrelation, CUpti_ActivityKernel10, correlationId);
EMPLACE_SAME(kernel_at::kName, CUpti_ActivityKernel10, name);
EMPLACE_SAME(kernel_at::kGraphNode, CUpti_ActivityKernel10, graphNodeId);
EMPLACE_SAME(kernel_at::kGraph, CUpti_ActivityKernel10, graphId);

EMPLACE_SAME(transfer_at::kBytes, CUpti_ActivityMemcpy6, bytes);
EMPLACE_SAME(transfer_at::kStart, CUpti_ActivityMemcpy6, start);
EMPLACE_SAME(transfer_at::kEnd, CUpti_ActivityMemcpy6, end);
EMPLACE_SAME(transfer_at::kDevice, CUpti_ActivityMemcpy6, deviceId);
EMPLACE_SAME(transfer_at::kContext, CUpti_ActivityMemcpy6, contextId);
EMPLACE_SAME(transfer_at::kStream, CUpti_ActivityMemcpy6, streamId);

EMPLACE_SAME(transfer_at::kBytes, CUpti_ActivityMemcpyPtoP4, bytes);
EMPLACE_SAME(transfer_at::kStart, CUpti_ActivityMemcpyPtoP4, start);
EMPLACE_SAME(transfer_at::kEnd, CUpti_ActivityMemcpyPtoP4, end);
EMPLACE_SAME(transfer_at::kDevice, CUpti_ActivityMemcpyPtoP4, deviceId);
EMPLACE_SAME(transfer_at::kContext, CUpti_ActivityMemcpyPtoP4, contextId);
EMPLACE_SAME(transfer_at::kStream, CUpti_ActivityMemcpyPtoP4, streamId);

EMPLACE_SAME(transfer_at::kBytes, CUpti_ActivityMemset4, bytes);
EMPLACE_SAME(transfer_at::kStart, CUpti_ActivityMemset4, start);
EMPLACE_SAME(transfer_at::kEnd, CUpti_ActivityMemset4, end);
EMPLACE_SAME(transfer_at::kDevice, CUpti_ActivityMemset4, deviceId);
EMPLACE_SAME(transfer_at::kContext, CUpti_ActivityMemset4, contextId);
EMPLACE_SAME(transfer_at::kStream, CUpti_ActivityMemset4, streamId);

EMPLACE_SAME(memcpy_at::kFrom, CUpti_ActivityMemcpy6, srcKind);
EMPLACE_SAME(memcpy_at::kTo, CUpti_ActivityMemcpy6, dstKind);
EMPLACE_SAME(memcpy_at::kCorrelation, CUpti_ActivityMemcpy6, correlationId);
EMPLACE_SAME(memcpy_at::kGraphNode, CUpti_ActivityMemcpy6, graphNodeId);
EMPLACE_SAME(memcpy_at::kGraph, CUpti_ActivityMemcpy6, graphId);

EMPLACE_SAME(memcpy_at::kFrom, CUpti_ActivityMemcpyPtoP4, srcKind);
EMPLACE_SAME(memcpy_at::kTo, CUpti_ActivityMemcpyPtoP4, dstKind);

EMPLACE_SAME(memcpy_peer_at::kFromDevice, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
EMPLACE_SAME(memcpy_peer_at::kToDevice, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
EMPLACE_SAME(memcpy_peer_at::kCorrelation, CUpti_ActivityMemcpyPtoP4, correlationId);
EMPLACE_SAME(memcpy_peer_at::kGraphNode, CUpti_ActivityMemcpyPtoP4, graphNodeId);
EMPLACE_SAME(memcpy_peer_at::kGraph, CUpti_ActivityMemcpyPtoP4, graphId);

EMPLACE_SAME(memset_at::kCorrelation, CUpti_ActivityMemset4, correlationId);
EMPLACE_SAME(memset_at::kMemory, CUpti_ActivityMemset4, memoryKind);
EMPLACE_SAME(memset_at::kGraphNode, CUpti_ActivityMemset4, graphNodeId);
EMPLACE_SAME(memset_at::kGraph, CUpti_ActivityMemset4, graphId);

EMPLACE_SAME(call_at::kCall, CUpti_ActivityAPI, cbid);
EMPLACE_SAME(call_at::kStart, CUpti_ActivityAPI, start);
EMPLACE_SAME(call_at::kEnd, CUpti_ActivityAPI, end);
EMPLACE_SAME(call_at::kProcess, CUpti_ActivityAPI, processId);
EMPLACE_SAME(call_at::kThread, CUpti_ActivityAPI, threadId);
EMPLACE_SAME(call_at::kCorrelation, CUpti_ActivityAPI, correlationId);
EMPLACE_SAME(call_at::kResult, CUpti_ActivityAPI, returnValue);

EMPLACE_SAME(external_at::kKind, CUpti_ActivityExternalCorrelation, externalKind);
EMPLACE_SAME(external_at::kId, CUpti_ActivityExternalCorrelation, externalId);
EMPLACE_SAME(external_at::kCorrelation, CUpti_ActivityExternalCorrelation, correlationId);

EMPLACE_SAME(overhead_at::kKind, CUpti_ActivityOverhead3, overheadKind);
EMPLACE_SAME(overhead_at::kStart, CUpti_ActivityOverhead3, start);
EMPLACE_SAME(overhead_at::kEnd, CUpti_ActivityOverhead3, end);

EMPLACE_SAME(wait_at::kKind, CUpti_ActivitySynchronization2, type);
EMPLACE_SAME(wait_at::kStart, CUpti_ActivitySynchronization2, start);
EMPLACE_SAME(wait_at::kEnd, CUpti_ActivitySynchronization2, end);
EMPLACE_SAME(wait_at::kCorrelation, CUpti_ActivitySynchronization2, correlationId);
EMPLACE_SAME(wait_at::kContext, CUpti_ActivitySynchronization2, contextId);
EMPLACE_SAME(wait_at::kStream, CUpti_ActivitySynchronization2, streamId);

EMPLACE_SAME(environment_at::kDevice, CUpti_ActivityEnvironment, deviceId);
EMPLACE_SAME(environment_at::kTime, CUpti_ActivityEnvironment, timestamp);
EMPLACE_SAME(environment_at::kKind, CUpti_ActivityEnvironment, environmentKind);
EMPLACE_SAME(environment_at::kSmClock, CUpti_ActivityEnvironment, data.speed.smClock);
EMPLACE_SAME(environment_at::kMemoryClock, CUpti_ActivityEnvironment, data.speed.memoryClock);
EMPLACE_SAME(environment_at::kPcieGeneration, CUpti_ActivityEnvironment, data.speed.pcieLinkGen);
EMPLACE_SAME(environment_at::kPcieLanes, CUpti_ActivityEnvironment, data.speed.pcieLinkWidth);
EMPLACE_SAME(environment_at::kThrottleReasons, CUpti_ActivityEnvironment,
             data.speed.clocksThrottleReasons);
EMPLACE_SAME(environment_at::kTemperature, CUpti_ActivityEnvironment,
             data.temperature.gpuTemperature);
EMPLACE_SAME(environment_at::kPower, CUpti_ActivityEnvironment, data.power.power);
EMPLACE_SAME(environment_at::kPowerLimit, CUpti_ActivityEnvironment, data.power.powerLimit);

EMPLACE_SAME(device_at::kMemoryBandwidth, CUpti_ActivityDevice5, globalMemoryBandwidth);
EMPLACE_SAME(device_at::kMemoryBytes, CUpti_ActivityDevice5, globalMemorySize);
EMPLACE_SAME(device_at::kL2Bytes, CUpti_ActivityDevice5, l2CacheSize);
EMPLACE_SAME(device_at::kCoreClock, CUpti_ActivityDevice5, coreClockRate);
EMPLACE_SAME(device_at::kCopyEngines, CUpti_ActivityDevice5, numMemcpyEngines);
EMPLACE_SAME(device_at::kMultiprocessors, CUpti_ActivityDevice5, numMultiprocessors);
EMPLACE_SAME(device_at::kCapabilityMajor, CUpti_ActivityDevice5, computeCapabilityMajor);
EMPLACE_SAME(device_at::kCapabilityMinor, CUpti_ActivityDevice5, computeCapabilityMinor);
EMPLACE_SAME(device_at::kDevice, CUpti_ActivityDevice5, id);
EMPLACE_SAME(device_at::kUuid, CUpti_ActivityDevice5, uuid);
EMPLACE_SAME(device_at::kName, CUpti_ActivityDevice5, name);

EMPLACE_SAME(pcie_at::kType, CUpti_ActivityPcie, type);
EMPLACE_SAME(pcie_at::kId, CUpti_ActivityPcie, id);
EMPLACE_SAME(pcie_at::kDomain, CUpti_ActivityPcie, domain);
EMPLACE_SAME(pcie_at::kGeneration, CUpti_ActivityPcie, pcieGeneration);
EMPLACE_SAME(pcie_at::kLinkRate, CUpti_ActivityPcie, linkRate);
EMPLACE_SAME(pcie_at::kLinkWidth, CUpti_ActivityPcie, linkWidth);
EMPLACE_SAME(pcie_at::kUpstreamBus, CUpti_ActivityPcie, upstreamBus);
EMPLACE_SAME(pcie_at::kUuid, CUpti_ActivityPcie, attr.gpuAttr.uuidDev);
EMPLACE_SAME(pcie_at::kSecondaryBus, CUpti_ActivityPcie, attr.bridgeAttr.secondaryBus);

EMPLACE_SAME(nvlink_at::kVersion, CUpti_ActivityNvLink4, nvlinkVersion);
EMPLACE_SAME(nvlink_at::kFirstType, CUpti_ActivityNvLink4, typeDev0);
EMPLACE_SAME(nvlink_at::kSecondType, CUpti_ActivityNvLink4, typeDev1);
EMPLACE_SAME(nvlink_at::kFirstId, CUpti_ActivityNvLink4, idDev0);
EMPLACE_SAME(nvlink_at::kSecondId, CUpti_ActivityNvLink4, idDev1);
EMPLACE_SAME(nvlink_at::kLinks, CUpti_ActivityNvLink4, physicalNvLinkCount);
EMPLACE_SAME(nvlink_at::kBandwidth, CUpti_ActivityNvLink4, bandwidth);
EMPLACE_SAME(nvlink_at::kThroughSwitch, CUpti_ActivityNvLink4, nvswitchConnected);

#undef EMPLACE_SAME

template <RecordKind kind, CUpti_ActivityKind theirs>
constexpr bool kSameKind = static_cast<std::uint32_t>(kind) == static_cast<std::uint32_t>(theirs);

static_assert(kSameKind<RecordKind::kUnfinished, CUPTI_ACTIVITY_KIND_INVALID>);
static_assert(kSameKind<RecordKind::kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY>);
static_assert(kSameKind<RecordKind::kMemset, CUPTI_ACTIVITY_KIND_MEMSET>);
static_assert(kSameKind<RecordKind::kKernel, CUPTI_ACTIVITY_KIND_KERNEL>);
static_assert(kSameKind<RecordKind::kDriver, CUPTI_ACTIVITY_KIND_DRIVER>);
static_assert(kSameKind<RecordKind::kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME>);
static_assert(kSameKind<RecordKind::kDevice, CUPTI_ACTIVITY_KIND_DEVICE>);
static_assert(kSameKind<RecordKind::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL>);
static_assert(kSameKind<RecordKind::kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD>);
static_assert(kSameKind<RecordKind::kEnvironment, CUPTI_ACTIVITY_KIND_ENVIRONMENT>);
static_assert(kSameKind<RecordKind::kMemcpyPeer, CUPTI_ACTIVITY_KIND_MEMCPY2>);
static_assert(kSameKind<RecordKind::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION>);
static_assert(
    kSameKind<RecordKind::kExternalCorrelation, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION>);
static_assert(kSameKind<RecordKind::kNvlink, CUPTI_ACTIVITY_KIND_NVLINK>);
static_assert(kSameKind<RecordKind::kPcie, CUPTI_ACTIVITY_KIND_PCIE>);

static_assert(static_cast<int>(MemoryKind::kPageable) == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
static_assert(static_cast<int>(MemoryKind::kPinned) == CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
static_assert(static_cast<int>(MemoryKind::kDevice) == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
static_assert(static_cast<int>(MemoryKind::kArray) == CUPTI_ACTIVITY_MEMORY_KIND_ARRAY);
static_assert(static_cast<int>(MemoryKind::kManaged) == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
static_assert(static_cast<int>(MemoryKind::kDeviceStatic) ==
              CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC);
static_assert(static_cast<int>(MemoryKind::kManagedStatic) ==
              CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);

static_assert(record_bytes(1, kCuda12_3) == sizeof(CUpti_ActivityMemcpy5));
static_assert(record_bytes(1, kCuda12_8) == sizeof(CUpti_ActivityMemcpy6));
static_assert(record_bytes(2, kCuda12_3) == sizeof(CUpti_ActivityMemset4));
static_assert(record_bytes(3, kCuda12_3) == sizeof(CUpti_ActivityKernel9));
static_assert(record_bytes(3, kCuda13_0) == sizeof(CUpti_ActivityKernel10));
static_assert(record_bytes(4, kCuda12_3) == sizeof(CUpti_ActivityAPI));
static_assert(record_bytes(5, kCuda12_3) == sizeof(CUpti_ActivityAPI));
static_assert(record_bytes(8, kCuda12_3) == sizeof(CUpti_ActivityDevice5));
static_assert(record_bytes(9, kCuda12_3) == sizeof(CUpti_ActivityContext));
static_assert(record_bytes(9, kCuda12_4) == sizeof(CUpti_ActivityContext2));
static_assert(record_bytes(9, kCuda12_5) == sizeof(CUpti_ActivityContext3));
static_assert(record_bytes(10, kCuda12_3) == sizeof(CUpti_ActivityKernel9));
static_assert(record_bytes(10, kCuda13_0) == sizeof(CUpti_ActivityKernel10));
static_assert(record_bytes(11, kCuda12_3) == sizeof(CUpti_ActivityName));
static_assert(record_bytes(12, kCuda12_3) == sizeof(CUpti_ActivityMarker2));
static_assert(record_bytes(13, kCuda13_0_1) == sizeof(CUpti_ActivityMarkerData2));
static_assert(record_bytes(17, kCuda12_3) == sizeof(CUpti_ActivityOverhead2));
static_assert(record_bytes(17, kCuda12_4) == sizeof(CUpti_ActivityOverhead3));
static_assert(record_bytes(18, kCuda12_3) == sizeof(CUpti_ActivityCdpKernel));
static_assert(record_bytes(19, kCuda12_3) == sizeof(CUpti_ActivityPreemption));
static_assert(record_bytes(20, kCuda12_3) == sizeof(CUpti_ActivityEnvironment));
static_assert(record_bytes(22, kCuda12_3) == sizeof(CUpti_ActivityMemcpyPtoP4));
static_assert(record_bytes(25, kCuda12_3) == sizeof(CUpti_ActivityUnifiedMemoryCounter2));
static_assert(record_bytes(25, kCuda12_8) == sizeof(CUpti_ActivityUnifiedMemoryCounter3));
static_assert(record_bytes(26, kCuda12_3) == sizeof(CUpti_ActivityFunction));
static_assert(record_bytes(27, kCuda12_3) == sizeof(CUpti_ActivityModule));
static_assert(record_bytes(28, kCuda12_3) == sizeof(CUpti_ActivityDeviceAttribute));
static_assert(record_bytes(33, kCuda13_0) == sizeof(CUpti_ActivityOpenAccData));
static_assert(record_bytes(34, kCuda13_0) == sizeof(CUpti_ActivityOpenAccLaunch));
static_assert(record_bytes(35, kCuda13_0) == sizeof(CUpti_ActivityOpenAccOther));
static_assert(record_bytes(36, kCuda12_3) == sizeof(CUpti_ActivityCudaEvent));
static_assert(record_bytes(36, kCuda12_8) == sizeof(CUpti_ActivityCudaEvent2));
static_assert(record_bytes(37, kCuda12_3) == sizeof(CUpti_ActivityStream));
static_assert(record_bytes(38, kCuda12_3) == sizeof(CUpti_ActivitySynchronization));
static_assert(record_bytes(38, kCuda12_8) == sizeof(CUpti_ActivitySynchronization2));
static_assert(record_bytes(39, kCuda12_3) == sizeof(CUpti_ActivityExternalCorrelation));
static_assert(record_bytes(40, kCuda12_3) == sizeof(CUpti_ActivityNvLink4));
static_assert(record_bytes(45, kCuda12_3) == sizeof(CUpti_ActivityMemory));
static_assert(record_bytes(46, kCuda12_3) == sizeof(CUpti_ActivityPcie));
static_assert(record_bytes(47, kCuda13_0) == sizeof(CUpti_ActivityOpenMp));
static_assert(record_bytes(48, kCuda12_3) == sizeof(CUpti_ActivityAPI));
static_assert(record_bytes(49, kCuda12_3) == sizeof(CUpti_ActivityMemory3));
static_assert(record_bytes(49, kCuda12_6) == sizeof(CUpti_ActivityMemory4));
static_assert(record_bytes(50, kCuda12_3) == sizeof(CUpti_ActivityMemoryPool2));
static_assert(record_bytes(50, kCuda13_0) == sizeof(CUpti_ActivityMemoryPool3));
static_assert(record_bytes(51, kCuda12_3) == sizeof(CUpti_ActivityGraphTrace2));
static_assert(record_bytes(52, kCuda12_3) == sizeof(CUpti_ActivityJit));
static_assert(record_bytes(52, kCuda12_4) == sizeof(CUpti_ActivityJit2));
static_assert(record_bytes(53, kCuda12_8) == sizeof(CUpti_ActivityDeviceGraphTrace));
static_assert(record_bytes(54, kCuda12_8) == sizeof(CUpti_ActivityMemDecompress));
static_assert(record_bytes(55, kCuda13_0) == sizeof(CUpti_ActivityConfidentialComputeRotation));

}  // namespace
}  // namespace emplace::calibrate

#endif
