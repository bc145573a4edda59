#include "cupti_library.hpp"

#include "refusal.hpp"

#include <emplace/calibrate/compute_device.hpp>

namespace emplace::calibrate {

CuptiLibrary::CuptiLibrary()
    : library({.what = "CUPTI",
               .names = {"libcupti.so.13", "libcupti.so.12"},
               .remedy = "Install the CUDA toolkit (or Debian's package cuda-cupti-13-0, or "
                         "Python's nvidia-cuda-cupti)"}) {
  library.find("cuptiGetVersion", get_version);
  library.find("cuptiGetResultString", get_result_string);
  library.find("cuptiActivityRegisterCallbacks", register_callbacks);
  library.find("cuptiActivityEnable", enable);
  library.find("cuptiActivityDisable", disable);
  library.find("cuptiActivityFlushAll", flush_all);
  library.find("cuptiActivityGetNumDroppedRecords", get_num_dropped_records);
  library.find("cuptiActivityGetNextRecord", get_next_record);
  library.find("cuptiActivityPushExternalCorrelationId", push_external_id);
  library.find("cuptiActivityPopExternalCorrelationId", pop_external_id);
}

void CuptiLibrary::check(CUptiResult result, std::string_view call) const {
  if (result != CUPTI_SUCCESS) {
    const char* text = nullptr;
    if (get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) {
      text = "an error without a name";
    }
    throw DeviceFailure(explain_refusal(call, static_cast<std::uint32_t>(result), text));
  }
}

}  // namespace emplace::calibrate
