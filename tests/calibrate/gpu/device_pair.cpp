#include "device_pair.hpp"

#include <emplace/calibrate/cpu_device.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace emplace::calibrate {
namespace {

// Reads element `i` as a number.
double number(DataType type, const std::vector<std::byte>& bytes, std::size_t i) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  };
  switch (type) {
    case DataType::kFloat32:
      return static_cast<double>(read(float{}));
    case DataType::kBfloat16:
      return static_cast<double>(
          std::bit_cast<float>(static_cast<std::uint32_t>(read(std::uint16_t{})) << 16U));
    case DataType::kInt32:
      return read(std::int32_t{});
    case DataType::kInt64:
      return static_cast<double>(read(std::int64_t{}));
    case DataType::kBool:
    case DataType::kInt8:
      return read(std::int8_t{});
    default:
      ADD_FAILURE() << "numbers of " << to_string(type);
      return 0;
  }
}

}  // namespace

std::shared_ptr<ActivitySource> cupti() {
  static const std::shared_ptr<ActivitySource> source = open_cupti();
  return source;
}

CudaDevices gpus(CudaOptions options) {
  cupti();
  return cuda_devices(options);
}

ComputeDevice& cpu() {
  static const std::unique_ptr<ComputeDevice> device = make_cpu_device("cpu:0", usable_cores());
  return *device;
}

Tensors::Tensors(ComputeDevice& device, const OpSite& site, const OpProgram& program) {
  const auto queue = device.make_queue();
  for (const Output& input : site.inputs) {
    inputs_.push_back(add(device, input.bytes));
    buffers_.inputs.push_back(inputs_.back().memory->data());
  }
  for (const Output& output : site.op.outputs) {
    outputs_.push_back(add(device, output.bytes));
    buffers_.outputs.push_back(outputs_.back().memory->data());
    const std::vector<std::byte> poison(static_cast<std::size_t>(output.bytes), std::byte{0xff});
    queue->copy(buffers_.outputs.back(), poison.data(), output.bytes);
    queue->finish();
  }
  state_ = add(device, site.op.persistent_bytes);
  workspace_ = add(device, program.workspace_bytes());
  buffers_.state = state_.memory->data();
  buffers_.workspace = workspace_.memory->data();
}

Tensors::Tensor Tensors::add(ComputeDevice& device, std::int64_t bytes) {
  return {device.allocate(bytes, false), bytes};
}

void Tensors::fill(Queue& queue, const std::vector<std::vector<std::byte>>& bytes) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    queue.copy(inputs_[i].memory->data(), bytes[i].data(), inputs_[i].bytes);
  }
  queue.copy(state_.memory->data(), bytes.back().data(), state_.bytes);
  queue.finish();
}

std::vector<std::vector<std::byte>> Tensors::results(Queue& queue) const {
  std::vector<std::vector<std::byte>> found;
  const auto read = [&](const Tensor& tensor) {
    found.emplace_back(static_cast<std::size_t>(tensor.bytes));
    queue.copy(found.back().data(), tensor.memory->data(), tensor.bytes);
  };
  for (const Tensor& output : outputs_) {
    read(output);
  }
  read(state_);
  queue.finish();
  return found;
}

std::vector<std::vector<std::byte>> random_inputs(const OpSite& site) {
  RandomStream random(20260101);
  std::vector<std::vector<std::byte>> made;
  const auto add = [&](DataType type, std::int64_t size) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    const auto width = static_cast<std::size_t>(size_of(type));
    for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
      const auto real = static_cast<float>(2 * random.uniform() - 1);
      const auto half = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(real) >> 16U);
      const std::uint64_t whole = random.next();
      const void* value = type == DataType::kFloat32    ? static_cast<const void*>(&real)
                          : type == DataType::kBfloat16 ? static_cast<const void*>(&half)
                                                        : static_cast<const void*>(&whole);
      std::memcpy(bytes.data() + at, value, width);
    }
    made.push_back(std::move(bytes));
  };
  for (const Output& input : site.inputs) {
    add(input.type, input.bytes);
  }
  add(DataType::kFloat32, site.op.persistent_bytes);
  return made;
}

std::vector<std::vector<std::byte>> run_once(ComputeDevice& device, const OpSite& site,
                                             const std::vector<std::vector<std::byte>>& inputs) {
  const auto program = device.compile(site);
  if (program == nullptr) {
    ADD_FAILURE() << device.facts().product << " does not run " << site.op.kind;
    return {};
  }
  Tensors tensors(device, site, *program);
  const auto queue = device.make_queue();
  tensors.fill(*queue, inputs);
  queue->run(*program, tensors.buffers());
  queue->finish();
  return tensors.results(*queue);
}

double relative_error(DataType type, const std::vector<std::byte>& a,
                      const std::vector<std::byte>& b) {
  double differences = 0;
  double sizes = 0;
  for (std::size_t i = 0; i < b.size() / static_cast<std::size_t>(size_of(type)); ++i) {
    const double expected = number(type, b, i);
    const double difference = number(type, a, i) - expected;
    differences += difference * difference;
    sizes += expected * expected;
  }
  const double error = differences == 0 ? 0 : std::sqrt(differences / sizes);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace emplace::calibrate
