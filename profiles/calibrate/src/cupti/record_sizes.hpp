#pragma once

// How many bytes each record has that CUPTI writes, by its kind and CUPTI's version.
// layout_check.cpp compares the sizes with the headers of CUDA 13.0, which keep the older records
// too, and a test those of 13.0 with the steps that the library takes from record to record.

#include <array>
#include <cstdint>
#include <string>

namespace emplace::calibrate {

// Versions of CUPTI: a count until CUDA 12.9 Update 1, then digits xxyyzz.
inline constexpr std::uint32_t kCuda12_3 = 21;
inline constexpr std::uint32_t kCuda12_4 = 22;
inline constexpr std::uint32_t kCuda12_5 = 23;
inline constexpr std::uint32_t kCuda12_6 = 24;
inline constexpr std::uint32_t kCuda12_8 = 26;
inline constexpr std::uint32_t kCuda12_9_1 = 28;
inline constexpr std::uint32_t kCuda13_0 = 130000;
inline constexpr std::uint32_t kCuda13_0_1 = 130001;
inline constexpr std::uint32_t kCuda13_1 = 130100;  // whose kernel records are not known here

/// Says that records of `kind` have `bytes` bytes from version `since` on, until another row does.
struct RecordSize {
  std::uint32_t kind = 0;
  std::uint32_t since = 0;
  std::uint32_t bytes = 0;
};

// All kinds that the library of 13.0 Update 1 walks over. Earlier sizes: the release notes say
// which record replaced which in what version, the headers how large each was. A kind of whose past
// we are not sure begins with 13.0; we never ask for one of those.
inline constexpr std::array kRecordSizes{
    RecordSize{1, kCuda12_3, 88},     // Memcpy5
    RecordSize{1, kCuda12_8, 96},     // Memcpy6
    RecordSize{2, kCuda12_3, 88},     // Memset4
    RecordSize{3, kCuda12_3, 208},    // Kernel9
    RecordSize{3, kCuda13_0, 216},    // Kernel10
    RecordSize{4, kCuda12_3, 40},     // API
    RecordSize{5, kCuda12_3, 40},     // API
    RecordSize{8, kCuda12_3, 184},    // Device5
    RecordSize{9, kCuda12_3, 16},     // Context
    RecordSize{9, kCuda12_4, 24},     // Context2
    RecordSize{9, kCuda12_5, 32},     // Context3
    RecordSize{10, kCuda12_3, 208},   // Kernel9
    RecordSize{10, kCuda13_0, 216},   // Kernel10
    RecordSize{11, kCuda12_3, 32},    // Name
    RecordSize{12, kCuda12_3, 56},    // Marker2
    RecordSize{13, kCuda13_0_1, 40},  // MarkerData2
    RecordSize{17, kCuda12_3, 48},    // Overhead2
    RecordSize{17, kCuda12_4, 56},    // Overhead3
    RecordSize{18, kCuda12_3, 144},   // CdpKernel
    RecordSize{19, kCuda12_3, 40},    // Preemption
    RecordSize{20, kCuda12_3, 40},    // Environment
    RecordSize{22, kCuda12_3, 96},    // MemcpyPtoP4
    RecordSize{25, kCuda12_3, 64},    // UnifiedMemoryCounter2
    RecordSize{25, kCuda12_8, 104},   // UnifiedMemoryCounter3
    RecordSize{26, kCuda12_3, 32},    // Function
    RecordSize{27, kCuda12_3, 24},    // Module
    RecordSize{28, kCuda12_3, 24},    // DeviceAttribute
    RecordSize{33, kCuda13_0, 152},   // OpenAccData
    RecordSize{34, kCuda13_0, 152},   // OpenAccLaunch
    RecordSize{35, kCuda13_0, 120},   // OpenAccOther
    RecordSize{36, kCuda12_3, 24},    // CudaEvent
    RecordSize{36, kCuda12_8, 56},    // CudaEvent2
    RecordSize{37, kCuda12_3, 24},    // Stream
    RecordSize{38, kCuda12_3, 40},    // Synchronization
    RecordSize{38, kCuda12_8, 56},    // Synchronization2
    RecordSize{39, kCuda12_3, 24},    // ExternalCorrelation
    RecordSize{40, kCuda12_3, 136},   // NvLink4
    RecordSize{45, kCuda12_3, 80},    // Memory
    RecordSize{46, kCuda12_3, 168},   // Pcie
    RecordSize{47, kCuda13_0, 40},    // OpenMp
    RecordSize{48, kCuda12_3, 40},    // API
    RecordSize{49, kCuda12_3, 120},   // Memory3
    RecordSize{49, kCuda12_6, 128},   // Memory4
    RecordSize{50, kCuda12_3, 72},    // MemoryPool2
    RecordSize{50, kCuda13_0, 80},    // MemoryPool3
    RecordSize{51, kCuda12_3, 56},    // GraphTrace2
    RecordSize{52, kCuda12_3, 64},    // Jit
    RecordSize{52, kCuda12_4, 72},    // Jit2
    RecordSize{53, kCuda12_8, 56},    // DeviceGraphTrace
    RecordSize{54, kCuda12_8, 64},    // MemDecompress
    RecordSize{55, kCuda13_0, 32},    // ConfidentialComputeRotation
};

/// Returns the bytes of a record of `kind` that CUPTI `version` writes, 0 if it has no such kind.
constexpr std::uint32_t record_bytes(std::uint32_t kind, std::uint32_t version) {
  std::uint32_t bytes = 0;
  for (const RecordSize& row : kRecordSizes) {
    if (row.kind == kind && row.since <= version) {
      bytes = row.bytes;
    }
  }
  return bytes;
}

/// Returns whether the records of CUPTI `version` are known.
constexpr bool knows_cupti(std::uint32_t version) {
  return (version >= kCuda12_3 && version <= kCuda12_9_1) ||
         (version >= kCuda13_0 && version < kCuda13_1);
}

/// Returns the known versions, for messages: "21 (CUDA 12.3) to 130001 (CUDA 13.0 Update 1)".
std::string known_cupti_versions();

}  // namespace emplace::calibrate
