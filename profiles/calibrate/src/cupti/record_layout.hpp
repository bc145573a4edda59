#pragma once

// Where the fields lie in the C records that CUPTI writes: our own copy of what its headers say, so
// that recordings are read where there is no toolkit. NVIDIA adds fields at the end of a record, or
// in its padding, so the offsets hold for all versions known here; only sizes differ
// (record_sizes.hpp). layout_check.cpp compares both with the headers of CUDA 13.0.

#include <cstddef>
#include <cstdint>

namespace emplace::calibrate {

/// Numbers the kinds of records that are read (CUpti_ActivityKind).
enum class RecordKind : std::uint32_t {
  kUnfinished = 0,
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,  ///< of a profiler that runs one kernel at a time; we ask for kConcurrentKernel
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kEnvironment = 20,
  kMemcpyPeer = 22,
  kSynchronization = 38,
  kExternalCorrelation = 39,
  kNvlink = 40,
  kPcie = 46,
};

// Offsets of fields, in bytes. Every record starts with its kind.

namespace kernel_at {
inline constexpr std::size_t kRegistersPerThread = 6;
inline constexpr std::size_t kStart = 16;
inline constexpr std::size_t kEnd = 24;
inline constexpr std::size_t kDevice = 40;
inline constexpr std::size_t kContext = 44;
inline constexpr std::size_t kStream = 48;
inline constexpr std::size_t kGrid = 52;
inline constexpr std::size_t kBlock = 64;
inline constexpr std::size_t kStaticShared = 76;
inline constexpr std::size_t kDynamicShared = 80;
inline constexpr std::size_t kCorrelation = 92;
inline constexpr std::size_t kName = 104;
inline constexpr std::size_t kGraphNode = 144;
inline constexpr std::size_t kGraph = 156;
}  // namespace kernel_at

// Copies, peer copies and memsets agree up to the stream.
namespace transfer_at {
inline constexpr std::size_t kBytes = 8;
inline constexpr std::size_t kStart = 16;
inline constexpr std::size_t kEnd = 24;
inline constexpr std::size_t kDevice = 32;
inline constexpr std::size_t kContext = 36;
inline constexpr std::size_t kStream = 40;
}  // namespace transfer_at

namespace memcpy_at {
inline constexpr std::size_t kFrom = 5;
inline constexpr std::size_t kTo = 6;
inline constexpr std::size_t kCorrelation = 44;
inline constexpr std::size_t kGraphNode = 64;
inline constexpr std::size_t kGraph = 72;
}  // namespace memcpy_at

namespace memcpy_peer_at {
inline constexpr std::size_t kFromDevice = 44;
inline constexpr std::size_t kToDevice = 52;
inline constexpr std::size_t kCorrelation = 60;
inline constexpr std::size_t kGraphNode = 72;
inline constexpr std::size_t kGraph = 80;
}  // namespace memcpy_peer_at

namespace memset_at {
inline constexpr std::size_t kCorrelation = 44;
inline constexpr std::size_t kMemory = 50;
inline constexpr std::size_t kGraphNode = 64;
inline constexpr std::size_t kGraph = 72;
}  // namespace memset_at

namespace call_at {
inline constexpr std::size_t kCall = 4;
inline constexpr std::size_t kStart = 8;
inline constexpr std::size_t kEnd = 16;
inline constexpr std::size_t kProcess = 24;
inline constexpr std::size_t kThread = 28;
inline constexpr std::size_t kCorrelation = 32;
inline constexpr std::size_t kResult = 36;
}  // namespace call_at

namespace external_at {
inline constexpr std::size_t kKind = 4;
inline constexpr std::size_t kId = 8;
inline constexpr std::size_t kCorrelation = 16;
}  // namespace external_at

namespace overhead_at {
inline constexpr std::size_t kKind = 4;
inline constexpr std::size_t kStart = 24;
inline constexpr std::size_t kEnd = 32;
}  // namespace overhead_at

namespace wait_at {
inline constexpr std::size_t kKind = 4;
inline constexpr std::size_t kStart = 8;
inline constexpr std::size_t kEnd = 16;
inline constexpr std::size_t kCorrelation = 24;
inline constexpr std::size_t kContext = 28;
inline constexpr std::size_t kStream = 32;
}  // namespace wait_at

namespace environment_at {
inline constexpr std::size_t kDevice = 4;
inline constexpr std::size_t kTime = 8;
inline constexpr std::size_t kKind = 16;  // 1 speed, 2 temperature, 3 power, 4 cooling
inline constexpr std::size_t kSmClock = 20;
inline constexpr std::size_t kMemoryClock = 24;
inline constexpr std::size_t kPcieGeneration = 28;
inline constexpr std::size_t kPcieLanes = 32;
inline constexpr std::size_t kThrottleReasons = 36;
inline constexpr std::size_t kTemperature = 20;
inline constexpr std::size_t kPower = 20;
inline constexpr std::size_t kPowerLimit = 24;
}  // namespace environment_at

namespace device_at {
inline constexpr std::size_t kMemoryBandwidth = 8;
inline constexpr std::size_t kMemoryBytes = 16;
inline constexpr std::size_t kL2Bytes = 28;
inline constexpr std::size_t kCoreClock = 36;
inline constexpr std::size_t kCopyEngines = 40;
inline constexpr std::size_t kMultiprocessors = 44;
inline constexpr std::size_t kCapabilityMajor = 104;
inline constexpr std::size_t kCapabilityMinor = 108;
inline constexpr std::size_t kDevice = 112;
inline constexpr std::size_t kUuid = 120;
inline constexpr std::size_t kName = 136;
}  // namespace device_at

namespace pcie_at {
inline constexpr std::size_t kType = 4;  // 0 GPU, 1 bridge
inline constexpr std::size_t kId = 8;
inline constexpr std::size_t kDomain = 12;
inline constexpr std::size_t kGeneration = 16;
inline constexpr std::size_t kLinkRate = 18;
inline constexpr std::size_t kLinkWidth = 20;
inline constexpr std::size_t kUpstreamBus = 22;
inline constexpr std::size_t kUuid = 24;          // of a GPU
inline constexpr std::size_t kSecondaryBus = 24;  // of a bridge
}  // namespace pcie_at

namespace nvlink_at {
inline constexpr std::size_t kVersion = 4;
inline constexpr std::size_t kFirstType = 8;  // 1 GPU, 2 the NVLink unit of a CPU
inline constexpr std::size_t kSecondType = 12;
inline constexpr std::size_t kFirstId = 16;
inline constexpr std::size_t kSecondId = 32;
inline constexpr std::size_t kLinks = 52;
inline constexpr std::size_t kBandwidth = 120;
inline constexpr std::size_t kThroughSwitch = 128;
}  // namespace nvlink_at

}  // namespace emplace::calibrate
