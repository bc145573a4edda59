#include "cupti_library.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace emplace::calibrate {
namespace {

struct Cause {
  std::uint32_t code;
  std::string_view text;
};

constexpr std::string_view kOtherProfiler =
    "another profiler is using CUPTI, which serves one in a process: run without Nsight, "
    "compute-sanitizer, DCGM's counters and the like";
constexpr std::string_view kPrivileges =
    "profiling is reserved for administrators: run as root (in a container with CAP_SYS_ADMIN), or "
    "load the driver with NVreg_RestrictProfilingToAdminUsers=0";
constexpr std::string_view kVirtual = "the GPU is a virtual one without support for profiling";

constexpr std::array kCauses{
    Cause{15, "CUPTI could not initialise; is the driver as new as the toolkit?"},
    Cause{26, "another tool uses the hardware that CUPTI needs"},
    Cause{27, "this GPU or driver does not support it"},
    Cause{33, kVirtual},
    Cause{35, kPrivileges},
    Cause{36, kOtherProfiler},
    Cause{38, "this GPU needs a newer way of profiling than this version of CUPTI has"},
    Cause{39, kOtherProfiler},
    Cause{40, kVirtual},
    Cause{41, "the GPU runs in confidential computing mode, in which nothing is recorded"},
    Cause{43, "the GPU is a MIG instance without support for profiling"},
    Cause{45, "the Windows Subsystem for Linux here is without support for profiling"},
    Cause{999, "CUPTI found no working driver"},
};

}  // namespace

void CuptiLibrary::check(CUptiResult result, std::string_view call) const {
  if (result != CUPTI_SUCCESS) {
    const char* text = nullptr;
    if (get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) {
      text = "an error without a name";
    }
    const auto* const cause =
        std::ranges::find(kCauses, static_cast<std::uint32_t>(result), &Cause::code);
    throw DeviceFailure(fmt::format("{}: {} ({}){}{}", call, text, static_cast<int>(result),
                                    cause == kCauses.end() ? "" : "; ",
                                    cause == kCauses.end() ? "" : cause->text));
  }
}

}  // namespace emplace::calibrate
