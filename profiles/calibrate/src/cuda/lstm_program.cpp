// LSTM cells: products of cuBLAS with the gates between them.

#include "kernel_program.hpp"
#include "library_programs.hpp"
#include "lstm_kernels.hpp"

#include <utility>

namespace emplace::calibrate {
namespace {

using kernels::LstmBackwardSite;
using kernels::LstmShape;
using kernels::SiteReader;

// A side of a product, and how it is stored.
template <class T>
struct Side {
  const T* matrix;
  bool transposed = false;
};

// The products of a cell in one queue, with one workspace.
template <class T>
class Products {
 public:
  Products(CudaQueue& queue, bool tf32, void* workspace)
      : queue_(queue), tf32_(tf32), workspace_(workspace) {}

  // C = A B, or C += A B, of M x K times K x N.
  void operator()(std::int64_t m, std::int64_t n, std::int64_t k, Side<T> left, Side<T> right,
                  T* result, bool add = false) const {
    enqueue_gemm(
        queue_,
        {.type = kernels::kDataTypeOf<T>,
         .m = m,
         .n = n,
         .k = k,
         .left_transposed = left.transposed,
         .right_transposed = right.transposed,
         .accumulates = add},
        tf32_,
        {.left = left.matrix, .right = right.matrix, .result = result, .workspace = workspace_});
  }

 private:
  CudaQueue& queue_;
  bool tf32_;
  void* workspace_;
};

// z = [x h] W, in place of the gates that are made of it.
template <class T>
class LstmProgram final : public CudaProgram {
 public:
  LstmProgram(SiteReader& site, bool tf32) : shape_(site), tf32_(tf32) {
    const auto& [n, inputs, states] = shape_;
    site.expect(site.num_inputs() == 5 && site.num_outputs() == 3);
    site.expect_input<T>(0, n * inputs);
    site.expect_input<T>(1, n * states);
    site.expect_input<T>(2, n * states);
    site.expect_input<T>(3, (inputs + states) * shape_.gates());
    site.expect_input<T>(4, shape_.gates());
    site.expect_output<T>(0, n * states);
    site.expect_output<T>(1, n * states);
    site.expect_output<T>(2, n * shape_.gates());
  }

  std::int64_t workspace_bytes() const override { return kGemmWorkspaceBytes; }
  std::string_view library() const override { return "cublas"; }

  void enqueue(CudaQueue& queue, const OpBuffers& b) const override {
    const auto& [n, inputs, states] = shape_;
    const std::int64_t gates = shape_.gates();
    const T* weights = kernels::input<T>(b, 3);
    T* z = kernels::output<T>(b, 2);
    const Products<T> multiply(queue, tf32_, b.workspace);
    multiply(n, gates, inputs, {kernels::input<T>(b, 0)}, {weights}, z);
    multiply(n, gates, states, {kernels::input<T>(b, 1)}, {weights + inputs * gates}, z, true);
    CudaLauncher launcher = queue.launcher();
    LstmKernels<T>::gates(launcher, shape_, z, kernels::input<T>(b, 4), kernels::input<T>(b, 2),
                          kernels::output<T>(b, 0), kernels::output<T>(b, 1), z);
  }

 private:
  LstmShape shape_;
  bool tf32_;
};

// dx = dz Wx', dh = dz Wh', dWx = x' dz, dWh = h' dz, db = the sum of dz, as far as wanted.
template <class T>
class LstmBackwardProgram final : public CudaProgram {
 public:
  LstmBackwardProgram(SiteReader& site, bool tf32) : site_(site), tf32_(tf32) {
    const std::int64_t state = site_.n * site_.states;
    site.expect_input<T>(site_.dh_next, state);
    if (site_.dc_next >= 0) {
      site.expect_input<T>(site_.dc_next, state);
    }
    const std::array sizes = {
        site_.n * site_.inputs, state, state, (site_.inputs + site_.states) * site_.gates(), state,
        site_.n * site_.gates()};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      site.expect_input<T>(site_.x + static_cast<std::int64_t>(i), sizes[i]);
    }
    for (std::int64_t i = 0; i < site.num_outputs(); ++i) {
      site.expect_output<T>(i, site.output_elements(i));
    }
  }

  std::int64_t workspace_bytes() const override {
    return sums_at() + CudaLauncher::reduce_columns_bytes<kernels::Total>(site_.n, site_.gates());
  }
  std::string_view library() const override { return "cublas"; }

  void enqueue(CudaQueue& queue, const OpBuffers& b) const override {
    const std::int64_t n = site_.n;
    const std::int64_t inputs = site_.inputs;
    const std::int64_t states = site_.states;
    const std::int64_t gates = site_.gates();
    const auto in = [&](std::int64_t i) { return kernels::input<T>(b, i); };
    const auto out = [&](std::int64_t i) { return i >= 0 ? kernels::output<T>(b, i) : nullptr; };
    const T* x = in(site_.x);
    const T* h = in(site_.x + 1);
    const T* weights = in(site_.x + 3);
    T* dz = kernels::workspace<T>(b, kGemmWorkspaceBytes);
    CudaLauncher launcher = queue.launcher();
    LstmKernels<T>::gates_backward(
        launcher, site_, in(site_.dh_next), site_.dc_next >= 0 ? in(site_.dc_next) : nullptr,
        in(site_.x + 2), in(site_.x + 4), in(site_.x + 5), dz, out(site_.dc));
    const Products<T> multiply(queue, tf32_, b.workspace);
    if (T* dx = out(site_.dx); dx != nullptr) {
      multiply(n, inputs, gates, {dz}, {weights, true}, dx);
    }
    if (T* dh = out(site_.dh); dh != nullptr) {
      multiply(n, states, gates, {dz}, {weights + inputs * gates, true}, dh);
    }
    if (T* dweights = out(site_.dweights); dweights != nullptr) {
      multiply(inputs, gates, n, {x, true}, {dz}, dweights);
      multiply(states, gates, n, {h, true}, {dz}, dweights + inputs * gates);
    }
    if (T* dbias = out(site_.dbias); dbias != nullptr) {
      LstmKernels<T>::bias_backward(launcher, site_, dz, dbias,
                                    kernels::workspace<void>(b, sums_at()));
    }
  }

 private:
  std::int64_t sums_at() const {
    return kGemmWorkspaceBytes +
           kernels::aligned(site_.n * site_.gates() * std::int64_t{sizeof(T)});
  }

  LstmBackwardSite site_;
  bool tf32_;
};

template <template <class T> class Program>
std::unique_ptr<CudaProgram> make(const OpSite& site, bool tf32) {
  SiteReader reader(site);
  std::unique_ptr<CudaProgram> program;
  switch (kernels::element_type(site).value_or(DataType::kBool)) {
    case DataType::kFloat32:
      program = std::make_unique<Program<float>>(reader, tf32);
      break;
    case DataType::kBfloat16:
      program = std::make_unique<Program<kernels::Bfloat16>>(reader, tf32);
      break;
    default:
      return nullptr;
  }
  return reader.fits() ? std::move(program) : nullptr;
}

}  // namespace

std::unique_ptr<CudaProgram> lstm_program(const OpSite& site, bool tf32) {
  if (site.op.kind == "lstm_cell") {
    return make<LstmProgram>(site, tf32);
  }
  if (site.op.kind == "lstm_cell_backward") {
    return make<LstmBackwardProgram>(site, tf32);
  }
  return nullptr;
}

}  // namespace emplace::calibrate
