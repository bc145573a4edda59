#include "convolution_plan.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <array>

namespace emplace::calibrate {
namespace {

// Names of the tensors in cuDNN's graph.
constexpr std::array<std::int64_t, 3> kTensorIds = {'x', 'w', 'y'};

// Bytes to which all addresses are multiples: allocations are to 256, outputs of ops to their own.
constexpr std::int64_t kAlignment = 16;

cudnnDataType_t cudnn_type(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return CUDNN_DATA_FLOAT;
    case DataType::kFloat16:
      return CUDNN_DATA_HALF;
    case DataType::kBfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      EMPLACE_CHECK(false, "convolution of {}", to_string(type));
  }
}

CudnnDescriptor tensor(const CudnnLibrary& library, std::int64_t id, DataType type,
                       const std::array<std::int64_t, 4>& dims) {
  CudnnDescriptor made(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const cudnnDataType_t element = cudnn_type(type);
  const std::array<std::int64_t, 4> strides = {dims[1] * dims[2] * dims[3], dims[2] * dims[3],
                                               dims[3], 1};
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &id);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &element);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims.data(), 4);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides.data(), 4);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &kAlignment);
  made.finalize();
  return made;
}

CudnnDescriptor convolution(const CudnnLibrary& library, const ConvolutionSite& site) {
  CudnnDescriptor made(library, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const std::int64_t dims = 2;
  const std::array<std::int64_t, 2> dilations = {site.dilation, site.dilation};
  const std::array<std::int64_t, 2> strides = {site.stride_down, site.stride_across};
  const std::array<std::int64_t, 2> before = {site.pad_top, site.pad_left};
  const std::array<std::int64_t, 2> after = {site.pad_bottom, site.pad_right};
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &sums);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, &dims);
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, dilations.data(), 2);
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, strides.data(), 2);
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, before.data(), 2);
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, after.data(), 2);
  made.finalize();
  return made;
}

// The attributes of the three ops, which have names of their own in each.
struct PassAttributes {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
};

constexpr std::array kPasses = {
    PassAttributes{
        CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    PassAttributes{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    PassAttributes{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

CudnnDescriptor operation_graph(const CudnnLibrary& library, const ConvolutionRequest& request) {
  const ConvolutionSite& site = request.site;
  const CudnnDescriptor x =
      tensor(library, kTensorIds[0], site.type, {site.n, site.c, site.h, site.w});
  const CudnnDescriptor w =
      tensor(library, kTensorIds[1], site.type, {site.k, site.c, site.r, site.s});
  const CudnnDescriptor y =
      tensor(library, kTensorIds[2], site.type, {site.n, site.k, site.p, site.q});
  const CudnnDescriptor window = convolution(library, site);
  const PassAttributes& pass = kPasses[static_cast<std::size_t>(site.pass)];
  const float one = 1;
  const float zero = 0;
  CudnnDescriptor operation(library, pass.type);
  operation.set(pass.convolution, window);
  operation.set(pass.x, x);
  operation.set(pass.w, w);
  operation.set(pass.y, y);
  operation.set(pass.alpha, CUDNN_TYPE_FLOAT, &one);
  operation.set(pass.beta, CUDNN_TYPE_FLOAT, &zero);
  operation.finalize();
  CudnnDescriptor graph(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.finalize();
  return graph;
}

std::vector<CudnnDescriptor> engine_configs(const CudnnLibrary& library, const CudnnDescriptor& gpu,
                                            const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t mode,
                                            std::int32_t multiprocessors) {
  CudnnDescriptor heuristics(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, gpu);
  if (multiprocessors > 0) {
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET, CUDNN_TYPE_INT32, &multiprocessors);
  }
  if (!heuristics.try_finalize()) {
    return {};
  }
  const auto read = [&](std::vector<cudnnBackendDescriptor_t> results) {
    return heuristics.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           results.data(), results.size());
  };
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> results;
  for (std::int64_t left = read({}); left > 0; --left) {
    configs.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    results.push_back(configs.back().get());
  }
  for (const std::int64_t count = read(results); std::ssize(configs) > count;) {
    configs.pop_back();
  }
  return configs;
}

template <typename Note>
std::vector<Note> notes(const CudnnDescriptor& engine, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type) {
  std::array<Note, 16> found{};
  const std::int64_t count = engine.read(name, type, found.data(), found.size());
  return {found.begin(), found.begin() + count};
}

bool is_wanted(const CudnnLibrary& library, const CudnnDescriptor& config,
               const ConvolutionRequest& request) {
  CudnnDescriptor engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t target = engine.get();
  config.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, &target);
  const auto behaviour = notes<cudnnBackendBehaviorNote_t>(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                           CUDNN_TYPE_BEHAVIOR_NOTE);
  if (std::ranges::count(behaviour, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) > 0) {
    return false;
  }
  const auto numerics = notes<cudnnBackendNumericalNote_t>(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                           CUDNN_TYPE_NUMERICAL_NOTE);
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::ranges::count(numerics, note) > 0;
  };
  // To float16, which has a smaller range; TF32 on tensor cores counts as no such conversion.
  const bool rounds = has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
                      has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
  const bool is_tf32 =
      request.site.type == DataType::kFloat32 && has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  return !rounds && (request.tf32 || !is_tf32);
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type)
    : library_(&library) {
  check_cuda(library, library.create_descriptor(type, &descriptor_),
             "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) {
    library_->destroy_descriptor(descriptor_);
  }
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          const void* values, std::int64_t count) {
  check_cuda(*library_, library_->set_attribute(descriptor_, name, type, count, values),
             "cudnnBackendSetAttribute");
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &value.descriptor_);
}

std::int64_t CudnnDescriptor::read(cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, void* values,
                                   std::size_t most) const {
  std::int64_t count = 0;
  check_cuda(*library_,
             library_->get_attribute(descriptor_, name, type, static_cast<std::int64_t>(most),
                                     &count, values),
             "cudnnBackendGetAttribute");
  return count;
}

void CudnnDescriptor::finalize() {
  check_cuda(*library_, library_->finalize(descriptor_), "cudnnBackendFinalize");
}

bool CudnnDescriptor::try_finalize() {
  return library_->finalize(descriptor_) == CUDNN_STATUS_SUCCESS;
}

CudnnDescriptor describe_gpu(const CudnnLibrary& library, std::int32_t device) {
  CudnnDescriptor made(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  made.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, &device);
  made.finalize();
  return made;
}

CudnnDescriptor describe_gpu(const CudnnLibrary& library, const std::string& json) {
  CudnnDescriptor made(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  made.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, json.c_str(),
           static_cast<std::int64_t>(json.size() + 1));
  made.finalize();
  return made;
}

std::vector<ConvolutionPlan> convolution_plans(const CudnnLibrary& library,
                                               const CudnnDescriptor& gpu,
                                               const ConvolutionRequest& request,
                                               std::size_t count) {
  const CudnnDescriptor graph = operation_graph(library, request);
  std::vector<ConvolutionPlan> plans;
  // The fallback lists engines that run nearly anything, in no order of speed.
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (!plans.empty()) {
      break;
    }
    for (const CudnnDescriptor& config :
         engine_configs(library, gpu, graph, mode, request.multiprocessors)) {
      if (plans.size() == count) {
        break;
      }
      if (!is_wanted(library, config, request)) {
        continue;
      }
      CudnnDescriptor plan(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, gpu);
      if (!plan.try_finalize()) {
        continue;
      }
      std::int64_t bytes = 0;
      plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, &bytes);
      if (bytes <= request.workspace_limit) {
        plans.push_back({.plan = std::move(plan), .workspace_bytes = bytes});
      }
    }
  }
  return plans;
}

void run_convolution(const CudnnLibrary& library, cudnnHandle_t handle, const ConvolutionPlan& plan,
                     const std::array<void*, 3>& tensors, void* workspace) {
  CudnnDescriptor pack(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kTensorIds.data(), 3);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, tensors.data(), 3);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace);
  pack.finalize();
  check_cuda(library, library.execute(handle, plan.plan.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace emplace::calibrate
