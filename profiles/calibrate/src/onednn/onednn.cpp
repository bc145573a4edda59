// The only place that calls oneDNN. Its primitives are made once; tensors are copied to the layouts
// that they like best and back in each run, which is part of what an op takes.

#include "../cpu/cpu_program.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <array>
#include <optional>
#include <unordered_map>

namespace emplace::calibrate {
namespace {

using dnnl::memory;

constexpr std::int64_t kAlignment = 256;

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::optional<memory::data_type> type_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return memory::data_type::f32;
    case DataType::kBfloat16:
      return memory::data_type::bf16;
    default:
      return std::nullopt;
  }
}

// Primitives are made for as many threads as OpenMP then has for the thread that makes them.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

// One tensor of a primitive: as it lies in our buffers, and as the primitive wants it.
struct Argument {
  int name = 0;
  memory::desc plain{};
  memory::desc wanted{};
  std::int64_t offset = 0;  // of the copy in the workspace
  dnnl::reorder copy{};

  bool is_copied() const { return plain != wanted; }
};

class OnednnOp final : public CpuProgram {
 public:
  // `arguments` are the two inputs and the result.
  OnednnOp(dnnl::primitive primitive, const memory::desc& scratchpad,
           std::array<Argument, 3> arguments)
      : primitive_(std::move(primitive)), scratchpad_(scratchpad), arguments_(arguments) {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      Argument& argument = arguments_[i];
      if (argument.is_copied()) {
        const bool is_result = i == 2;
        const auto& from = is_result ? argument.wanted : argument.plain;
        const auto& to = is_result ? argument.plain : argument.wanted;
        argument.copy =
            dnnl::reorder(dnnl::reorder::primitive_desc(cpu_engine(), from, cpu_engine(), to));
        argument.offset = reserve(argument.wanted);
      }
    }
    scratchpad_offset_ = reserve(scratchpad_);
  }

  std::int64_t workspace_bytes() const override { return workspace_bytes_; }
  std::string_view library() const override { return "onednn"; }

  void run(const CoreTeam& team, const OpBuffers& buffers) override {
    const ThreadCount threads(team.cores());
    dnnl::stream stream(cpu_engine());
    char* scratch = static_cast<char*>(buffers.workspace);
    const std::array<void*, 3> data{const_cast<void*>(buffers.inputs[0]),
                                    const_cast<void*>(buffers.inputs[1]), buffers.outputs[0]};
    std::unordered_map<int, memory> seen;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      memory plain(argument.plain, cpu_engine(), data[i]);
      if (argument.is_copied()) {
        memory wanted(argument.wanted, cpu_engine(), scratch + argument.offset);
        if (i < 2) {
          argument.copy.execute(stream, plain, wanted);
        }
        seen.emplace(argument.name, wanted);
      } else {
        seen.emplace(argument.name, plain);
      }
    }
    seen.emplace(DNNL_ARG_SCRATCHPAD,
                 memory(scratchpad_, cpu_engine(), scratch + scratchpad_offset_));
    primitive_.execute(stream, seen);
    if (const Argument& made = arguments_[2]; made.is_copied()) {
      memory plain(made.plain, cpu_engine(), data[2]);
      made.copy.execute(stream, seen.at(made.name), plain);
    }
    stream.wait();
  }

 private:
  std::int64_t reserve(const memory::desc& desc) {
    const std::int64_t offset = workspace_bytes_;
    const auto bytes = static_cast<std::int64_t>(desc.get_size());
    workspace_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }

  dnnl::primitive primitive_;
  memory::desc scratchpad_;
  std::array<Argument, 3> arguments_;
  std::int64_t scratchpad_offset_ = 0;
  std::int64_t workspace_bytes_ = 0;
};

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr result;
  result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return result;
}

// What the three passes of a convolution are described by.
struct Convolution {
  memory::desc plain_x, plain_filters, plain_y;
  memory::desc any_x, any_filters, any_y;
  memory::dims strides, dilations, before, after;

  Convolution(const ConvolutionSite& a, memory::data_type type)
      : plain_x({a.n, a.c, a.h, a.w}, type, memory::format_tag::nchw),
        plain_filters({a.k, a.c, a.r, a.s}, type, memory::format_tag::oihw),
        plain_y({a.n, a.k, a.p, a.q}, type, memory::format_tag::nchw),
        any_x({a.n, a.c, a.h, a.w}, type, memory::format_tag::any),
        any_filters({a.k, a.c, a.r, a.s}, type, memory::format_tag::any),
        any_y({a.n, a.k, a.p, a.q}, type, memory::format_tag::any),
        strides{a.stride_down, a.stride_across},
        dilations{a.dilation - 1, a.dilation - 1},
        before{a.pad_top, a.pad_left},
        after{padding_after(a.h, a.p, a.r, a.stride_down, a.dilation, a.pad_top),
              padding_after(a.w, a.q, a.s, a.stride_across, a.dilation, a.pad_left)} {}

  // oneDNN wants the padding from which the number of results follows; it is negative where windows
  // leave out the map's last elements.
  static std::int64_t padding_after(std::int64_t extent, std::int64_t results, std::int64_t taps,
                                    std::int64_t stride, std::int64_t dilation,
                                    std::int64_t before_map) {
    return (results - 1) * stride + (taps - 1) * dilation + 1 - extent - before_map;
  }

  dnnl::convolution_forward::primitive_desc forward() const {
    return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, any_x,
             any_filters, any_y, strides, dilations, before, after},
            attributes(),
            cpu_engine()};
  }

  std::unique_ptr<CpuProgram> make_forward() const {
    const auto made = forward();
    return std::make_unique<OnednnOp>(
        dnnl::convolution_forward(made), made.scratchpad_desc(),
        std::array{Argument{DNNL_ARG_SRC, plain_x, made.src_desc()},
                   Argument{DNNL_ARG_WEIGHTS, plain_filters, made.weights_desc()},
                   Argument{DNNL_ARG_DST, plain_y, made.dst_desc()}});
  }

  std::unique_ptr<CpuProgram> make_backward_data() const {
    const dnnl::convolution_backward_data::primitive_desc made(
        {dnnl::algorithm::convolution_direct, any_x, any_filters, any_y, strides, dilations, before,
         after},
        attributes(), cpu_engine(), forward());
    return std::make_unique<OnednnOp>(
        dnnl::convolution_backward_data(made), made.scratchpad_desc(),
        std::array{Argument{DNNL_ARG_DIFF_DST, plain_y, made.diff_dst_desc()},
                   Argument{DNNL_ARG_WEIGHTS, plain_filters, made.weights_desc()},
                   Argument{DNNL_ARG_DIFF_SRC, plain_x, made.diff_src_desc()}});
  }

  std::unique_ptr<CpuProgram> make_backward_filter() const {
    const dnnl::convolution_backward_weights::primitive_desc made(
        {dnnl::algorithm::convolution_direct, any_x, any_filters, any_y, strides, dilations, before,
         after},
        attributes(), cpu_engine(), forward());
    return std::make_unique<OnednnOp>(
        dnnl::convolution_backward_weights(made), made.scratchpad_desc(),
        std::array{Argument{DNNL_ARG_DIFF_DST, plain_y, made.diff_dst_desc()},
                   Argument{DNNL_ARG_SRC, plain_x, made.src_desc()},
                   Argument{DNNL_ARG_DIFF_WEIGHTS, plain_filters, made.diff_weights_desc()}});
  }
};

// Throws DeviceFailure unless oneDNN has just no implementation for a type and shape.
void expect_unimplemented(const dnnl::error& error) {
  if (error.status != dnnl_unimplemented) {
    throw DeviceFailure(fmt::format("oneDNN: {}", error.what()));
  }
}

// Row-major matrices of rows x columns, or their transposes stored so.
memory::desc matrices(std::int64_t batch, std::int64_t rows, std::int64_t columns, bool transposed,
                      memory::data_type type) {
  const std::int64_t size = rows * columns;
  return {{batch, rows, columns},
          type,
          transposed ? memory::dims{size, 1, rows} : memory::dims{size, columns, 1}};
}

}  // namespace

std::unique_ptr<CpuProgram> make_onednn_convolution(const ConvolutionSite& site,
                                                    const CoreTeam& team) {
  const auto type = type_of(site.type);
  if (!type) {
    return nullptr;
  }
  const ThreadCount threads(team.cores());
  try {
    const Convolution convolution(site, *type);
    switch (site.pass) {
      case ConvolutionPass::kForward:
        return convolution.make_forward();
      case ConvolutionPass::kBackwardData:
        return convolution.make_backward_data();
      case ConvolutionPass::kBackwardFilter:
        return convolution.make_backward_filter();
    }
  } catch (const dnnl::error& error) {
    expect_unimplemented(error);
  }
  return nullptr;
}

std::unique_ptr<CpuProgram> make_onednn_gemm(const GemmSite& site, const CoreTeam& team) {
  const auto type = type_of(site.type);
  if (!type) {
    return nullptr;
  }
  const ThreadCount threads(team.cores());
  try {
    const auto left = matrices(site.batch, site.m, site.k, site.left_transposed, *type);
    const auto right = matrices(site.batch, site.k, site.n, site.right_transposed, *type);
    const auto result = matrices(site.batch, site.m, site.n, false, *type);
    const dnnl::matmul::primitive_desc made({left, right, result}, attributes(), cpu_engine());
    return std::make_unique<OnednnOp>(
        dnnl::matmul(made), made.scratchpad_desc(),
        std::array{Argument{DNNL_ARG_SRC, left, left}, Argument{DNNL_ARG_WEIGHTS, right, right},
                   Argument{DNNL_ARG_DST, result, result}});
  } catch (const dnnl::error& error) {
    expect_unimplemented(error);
  }
  return nullptr;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace emplace::calibrate
