#include "gpu_part.hpp"

#include <emplace/base/error.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace emplace::calibrate {
GpuPart::GpuPart(std::shared_ptr<const CudaLibraries> libraries, std::int32_t ordinal)
    : libraries_(std::move(libraries)),
      ordinal_(ordinal),
      multiprocessors_(attribute(cudaDevAttrMultiProcessorCount)) {}

GpuPart::~GpuPart() {
  if (context_ != nullptr) {
    libraries_->driver.green_context_destroy(context_);
  }
}

std::vector<std::shared_ptr<const GpuPart>> GpuPart::split(
    const std::shared_ptr<const CudaLibraries>& libraries, std::int32_t ordinal,
    std::int32_t count) {
  const Driver& driver = libraries->driver;
  if (!driver.has_green_contexts) {
    throw DeviceFailure("the NVIDIA driver can't cut a GPU into parts: it has no green contexts");
  }
  check_cuda(cudaSetDevice(ordinal), "cudaSetDevice");
  check_cuda(cudaFree(nullptr), "starting the GPU");
  CUdevice device = 0;
  check_cuda(driver, driver.device_get(&device, ordinal), "cuDeviceGet");
  CUdevResource whole{};
  check_cuda(driver, driver.device_get_resource(device, &whole, CU_DEV_RESOURCE_TYPE_SM),
             "cuDeviceGetDevResource");
  const auto wanted = static_cast<unsigned>(count);
  std::vector<CUdevResource> shares(wanted);
  // The driver rounds the size of parts up to whole clusters, after which there may be too few.
  unsigned found = 0;
  for (unsigned size = whole.sm.smCount / wanted; found < wanted && size > 0; --size) {
    found = wanted;
    check_cuda(driver, driver.split_by_count(shares.data(), &found, &whole, nullptr, 0, size),
               "cuDevSmResourceSplitByCount");
  }
  if (found < wanted) {
    throw Error(ErrorCode::kUsage,
                fmt::format("GPU {} of {} multiprocessors can't be cut into {} parts", ordinal,
                            whole.sm.smCount, count));
  }
  std::vector<std::shared_ptr<const GpuPart>> parts;
  for (CUdevResource& share : shares) {
    auto part = std::make_shared<GpuPart>(libraries, ordinal);
    CUdevResourceDesc description{};
    check_cuda(driver, driver.generate_description(&description, &share, 1),
               "cuDevResourceGenerateDesc");
    check_cuda(driver,
               driver.green_context_create(&part->context_, description, device,
                                           CU_GREEN_CTX_DEFAULT_STREAM),
               "cuGreenCtxCreate");
    check_cuda(driver, driver.context_of_green(&part->current_, part->context_),
               "cuCtxFromGreenCtx");
    part->multiprocessors_ = static_cast<std::int32_t>(share.sm.smCount);
    parts.push_back(std::move(part));
  }
  return parts;
}

std::int32_t GpuPart::attribute(cudaDeviceAttr name) const {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, name, ordinal_), "cudaDeviceGetAttribute");
  return value;
}

std::string GpuPart::pci_bus_id() const {
  std::array<char, 32> id{};
  check_cuda(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), ordinal_),
             "cudaDeviceGetPCIBusId");
  std::string text(id.data());
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

void GpuPart::activate() const {
  check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice");
  if (current_ != nullptr) {  // events of the whole GPU are none of the part's streams
    check_cuda(libraries_->driver, libraries_->driver.set_current(current_), "cuCtxSetCurrent");
  }
}

cudaStream_t GpuPart::make_stream() const {
  activate();
  cudaStream_t stream = nullptr;
  if (context_ == nullptr) {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
  } else {
    const Driver& driver = libraries_->driver;
    check_cuda(driver,
               driver.green_context_stream_create(&stream, context_, CU_STREAM_NON_BLOCKING, 0),
               "cuGreenCtxStreamCreate");
  }
  return stream;
}

}  // namespace emplace::calibrate
