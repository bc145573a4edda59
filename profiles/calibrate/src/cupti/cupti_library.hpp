#pragma once

// CUPTI's Activity API, as far as it is used, and only that: no counters, which need privileges; no
// timestamp callback, which spoils times when registered twice; no cuptiFinalize, which races with
// CUPTI's own threads. A process that ends needs no finalizing.

#include "cuda/shared_library.hpp"

#include <cuda.h>
#include <cupti.h>

#include <string_view>

namespace emplace::calibrate {

/// Holds CUPTI's functions.
struct CuptiLibrary {
  /// Opens CUPTI 13 or 12; throws DeviceFailure.
  CuptiLibrary();

  /// Throws DeviceFailure that says why, unless `result` is success.
  void check(CUptiResult result, std::string_view call) const;

  SharedLibrary library;
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_num_dropped_records = nullptr;
  decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external_id = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external_id = nullptr;
};

}  // namespace emplace::calibrate
