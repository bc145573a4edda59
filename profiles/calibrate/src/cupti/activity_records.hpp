#pragma once

// Reads the records that CUPTI writes.

#include <emplace/calibrate/activity.hpp>

#include <cuda.h>
#include <cupti.h>

namespace emplace::calibrate {

/// The kind of external ids that are ours.
inline constexpr CUpti_ExternalCorrelationKind kExternalKind =
    CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

/// Returns whether add_record() knows the records of CUPTI `version`: those of CUDA 12.3 and later.
bool knows_cupti(std::uint32_t version);

/// Adds a record to `log`, if it is of a kind that a log has.
void add_record(ActivityLog& log, const CUpti_Activity& record);

}  // namespace emplace::calibrate
