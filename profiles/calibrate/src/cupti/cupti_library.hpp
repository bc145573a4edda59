#pragma once

// CUPTI's Activity API, as far as it is used, and only that: no counters, which need privileges; no
// timestamp callback, which spoils times when registered twice; no cuptiFinalize, which races with
// CUPTI's own threads. A process that ends needs no finalizing.

#include "cuda/shared_library.hpp"

#include <cuda.h>
#include <cupti.h>

#include <string_view>

namespace emplace::calibrate {

/// Holds the functions of CUPTI 13 or 12; making one throws DeviceFailure.
struct CuptiLibrary {
  /// Throws DeviceFailure that says why, unless `result` is success.
  void check(CUptiResult result, std::string_view call) const;

  SharedLibrary library{{.what = "CUPTI",
                         .names = {"libcupti.so.13", "libcupti.so.12"},
                         .remedy =
                             "Install the CUDA toolkit (or Debian's package cuda-cupti-13-0, or "
                             "Python's nvidia-cuda-cupti)"}};
  decltype(&cuptiGetVersion) get_version = library["cuptiGetVersion"];
  decltype(&cuptiGetResultString) get_result_string = library["cuptiGetResultString"];
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks =
      library["cuptiActivityRegisterCallbacks"];
  decltype(&cuptiActivityEnable) enable = library["cuptiActivityEnable"];
  decltype(&cuptiActivityDisable) disable = library["cuptiActivityDisable"];
  decltype(&cuptiActivityFlushAll) flush_all = library["cuptiActivityFlushAll"];
  decltype(&cuptiActivityGetNumDroppedRecords) get_num_dropped_records =
      library["cuptiActivityGetNumDroppedRecords"];
  decltype(&cuptiActivityGetNextRecord) get_next_record = library["cuptiActivityGetNextRecord"];
  decltype(&cuptiActivityPushExternalCorrelationId) push_external_id =
      library["cuptiActivityPushExternalCorrelationId"];
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external_id =
      library["cuptiActivityPopExternalCorrelationId"];
};

}  // namespace emplace::calibrate
