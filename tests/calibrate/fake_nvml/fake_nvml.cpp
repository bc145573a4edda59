// An NVML that knows one GPU: it is busy, and hot.

#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

struct Rates {
  unsigned gpu;
  unsigned memory;
};
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
constexpr int kNotFound = 6;
int the_gpu = 0;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): as NVML has them
extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, int** device) {
  *device = &the_gpu;
  return std::strcmp(bus_id, "0000:3b:00.0") == 0 ? 0 : kNotFound;
}

int nvmlDeviceGetUtilizationRates(int*, Rates* rates) {
  *rates = {.gpu = 42, .memory = 7};
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(int*, unsigned* count, Process* processes) {
  *count = 3;
  processes[0] = {static_cast<unsigned>(getpid()), 0, 0, 0};
  processes[1] = {11, 0, 0, 0};
  processes[2] = {12, 0, 0, 0};
  return 0;
}

int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  std::snprintf(name, length, "/usr/bin/python3");
  return pid == 11 ? 0 : kNotFound;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(int*, unsigned long long* reasons) {
  *reasons = 0x1 | 0x4 | 0x20;
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
