#include "gpu_part.hpp"

#include "cuda_check.hpp"

#include <emplace/base/error.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <fmt/format.h>

#include <utility>

namespace emplace::calibrate {
namespace {

std::int32_t multiprocessors_of(std::int32_t ordinal) {
  int count = 0;
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, ordinal),
             "cudaDeviceGetAttribute");
  return count;
}

}  // namespace

GpuPart::GpuPart(std::shared_ptr<const CudaLibraries> libraries, std::int32_t ordinal)
    : libraries_(std::move(libraries)),
      ordinal_(ordinal),
      multiprocessors_(multiprocessors_of(ordinal)) {}

GpuPart::~GpuPart() {
  if (context_ != nullptr) {
    libraries_->driver.green_context_destroy(context_);
  }
}

std::vector<std::shared_ptr<const GpuPart>> GpuPart::split(
    const std::shared_ptr<const CudaLibraries>& libraries, std::int32_t ordinal,
    std::int32_t count) {
  const Driver& driver = libraries->driver;
  if (driver.device_get_resource == nullptr || driver.split_by_count == nullptr ||
      driver.generate_description == nullptr || driver.green_context_create == nullptr ||
      driver.green_context_destroy == nullptr || driver.green_context_stream_create == nullptr ||
      driver.context_of_green == nullptr || driver.set_current == nullptr) {
    throw DeviceFailure("the NVIDIA driver can't cut a GPU into parts: it has no green contexts");
  }
  check_cuda(cudaSetDevice(ordinal), "cudaSetDevice");
  check_cuda(cudaFree(nullptr), "starting the GPU");
  CUdevice device = 0;
  check_cuda(driver, driver.device_get(&device, ordinal), "cuDeviceGet");
  CUdevResource whole{};
  check_cuda(driver, driver.device_get_resource(device, &whole, CU_DEV_RESOURCE_TYPE_SM),
             "cuDeviceGetDevResource");
  auto found = static_cast<unsigned>(count);
  const unsigned least = whole.sm.smCount / found;
  const auto refuse = [&] {
    throw Error(ErrorCode::kUsage, fmt::format("GPU {} of {} multiprocessors can't be cut into {} "
                                               "parts",
                                               ordinal, whole.sm.smCount, count));
  };
  if (least == 0) {
    refuse();
  }
  std::vector<CUdevResource> shares(found);
  check_cuda(driver, driver.split_by_count(shares.data(), &found, &whole, nullptr, 0, least),
             "cuDevSmResourceSplitByCount");
  // The driver rounds the size of parts up to whole clusters, after which there may be too few.
  for (unsigned size = least; found < static_cast<unsigned>(count) && size > 1;) {
    --size;
    found = static_cast<unsigned>(count);
    check_cuda(driver, driver.split_by_count(shares.data(), &found, &whole, nullptr, 0, size),
               "cuDevSmResourceSplitByCount");
  }
  if (found < static_cast<unsigned>(count)) {
    refuse();
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
