#pragma once

// What Linux tells of the host's processor and memory, and what short measurements show.

#include "worker.hpp"

#include <cstdint>
#include <string>

namespace emplace::calibrate {

/// Returns the processor's name as its maker gives it, of the text of /proc/cpuinfo.
std::string processor_name(const std::string& cpuinfo);

/// Returns the processor's name.
std::string processor_name();

/// Returns the bytes of the host's memory that this process may use: all, or less in a container.
std::int64_t host_memory_bytes();

/// Returns the bytes of the last-level caches of this process's cores together; 32 MB if Linux does
/// not tell. (sysconf() tells those of the whole processor, which a virtual machine has a part of.)
std::int64_t last_cache_bytes();

/// Measures the rate of fused multiply-adds on float32 in the widest vectors that the processor
/// has, on all cores of a team: FLOPs per microsecond.
double measure_flops_per_us(const CoreTeam& team);

/// Measures the rate at which a team reads and writes arrays larger than the caches,
/// a[i] = b[i] + s c[i]: bytes per microsecond.
double measure_memory_bytes_per_us(const CoreTeam& team);

}  // namespace emplace::calibrate
