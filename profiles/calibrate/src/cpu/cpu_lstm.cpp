// LSTM cells on the CPU: products by a library, the rest by our own kernels. With the first I rows
// of the weights Wx, the others Wh: z = x Wx + h Wh; dx = dz Wx^T, dh = dz Wh^T, dWx = x^T dz,
// dWh = h^T dz.

#include "../kernels/lstm.hpp"
#include "cpu_launcher.hpp"
#include "cpu_program.hpp"
#include "library.hpp"

#include <algorithm>
#include <utility>

namespace emplace::calibrate {
namespace {

using kernels::Bfloat16;
using kernels::SiteReader;

// Products that share one workspace, of which `made` of them run.
class Products {
 public:
  explicit Products(const CoreTeam& team) : team_(team) {}

  // Adds a product; returns its number.
  std::size_t add(const GemmSite& site) {
    ops_.push_back(make_gemm(site, team_));
    if (ops_.back() != nullptr) {
      bytes_ = std::max(bytes_, ops_.back()->workspace_bytes());
    }
    return ops_.size() - 1;
  }
  std::int64_t workspace_bytes() const { return bytes_; }
  std::string_view library() const { return ops_.front()->library(); }
  void run(std::size_t product, const CoreTeam& team, const void* left, const void* right,
           void* result, void* workspace) const {
    ops_[product]->run(team, left, right, result, workspace);
  }

 private:
  const CoreTeam& team_;
  std::vector<std::unique_ptr<BinaryOp>> ops_;
  std::int64_t bytes_ = 0;
};

template <class T>
class LstmProgram final : public CpuProgram {
 public:
  LstmProgram(SiteReader& site, const CoreTeam& team) : shape_(site), products_(team) {
    const auto& [n, inputs, states] = shape_;
    site.expect_input<T>(0, n * inputs);
    site.expect_input<T>(1, n * states);
    site.expect_input<T>(2, n * states);
    site.expect_input<T>(3, (inputs + states) * shape_.gates());
    site.expect_input<T>(4, shape_.gates());
    site.expect_output<T>(0, n * states);
    site.expect_output<T>(1, n * states);
    site.expect_output<T>(2, n * shape_.gates());
    const auto type = kernels::kDataTypeOf<T>;
    by_x_ = products_.add({.type = type, .m = n, .n = shape_.gates(), .k = inputs});
    by_h_ = products_.add(
        {.type = type, .m = n, .n = shape_.gates(), .k = states, .accumulates = true});
  }

  std::int64_t workspace_bytes() const override { return products_.workspace_bytes(); }
  std::string_view library() const override { return products_.library(); }

  void run(const CoreTeam& team, const OpBuffers& b) override {
    using kernels::input;
    const T* weights = input<T>(b, 3);
    T* gates = kernels::output<T>(b, 2);
    products_.run(by_x_, team, b.inputs[0], weights, gates, b.workspace);
    products_.run(by_h_, team, b.inputs[1], weights + shape_.inputs * shape_.gates(), gates,
                  b.workspace);
    CpuLauncher launcher(team);
    kernels::lstm_gates<T>(launcher, shape_, gates, input<T>(b, 4), input<T>(b, 2),
                           kernels::output<T>(b, 0), kernels::output<T>(b, 1), gates);
  }

 private:
  kernels::LstmShape shape_;
  Products products_;
  std::size_t by_x_ = 0;
  std::size_t by_h_ = 0;
};

template <class T>
class LstmBackwardProgram final : public CpuProgram {
 public:
  LstmBackwardProgram(SiteReader& site, const CoreTeam& team) : a_(site), products_(team) {
    const auto n = a_.n;
    for (const std::int64_t gradient : {a_.dh_next, a_.dc_next}) {
      if (gradient >= 0) {
        site.expect_input<T>(gradient, n * a_.states);
      }
    }
    site.expect_input<T>(a_.x, n * a_.inputs);
    site.expect_input<T>(a_.x + 1, n * a_.states);
    site.expect_input<T>(a_.x + 2, n * a_.states);
    site.expect_input<T>(a_.x + 3, (a_.inputs + a_.states) * a_.gates());
    site.expect_input<T>(a_.x + 4, n * a_.states);
    site.expect_input<T>(a_.x + 5, n * a_.gates());
    for (std::int64_t i = 0; i < site.num_outputs(); ++i) {
      site.expect_output<T>(i, site.output_elements(i));
    }
    const auto gradient_of = [&](std::int64_t width) {
      return products_.add({.type = kernels::kDataTypeOf<T>,
                            .m = n,
                            .n = width,
                            .k = a_.gates(),
                            .right_transposed = true});
    };
    const auto gradient_of_weights = [&](std::int64_t width) {
      return products_.add({.type = kernels::kDataTypeOf<T>,
                            .m = width,
                            .n = a_.gates(),
                            .k = n,
                            .left_transposed = true});
    };
    to_x_ = gradient_of(a_.inputs);
    to_h_ = gradient_of(a_.states);
    to_weights_of_x_ = gradient_of_weights(a_.inputs);
    to_weights_of_h_ = gradient_of_weights(a_.states);
  }

  std::int64_t workspace_bytes() const override {
    const std::int64_t bias = CpuLauncher::reduce_columns_bytes<kernels::Total>(a_.n, a_.gates());
    return dz_bytes() + std::max(products_.workspace_bytes(), bias);
  }
  std::string_view library() const override { return products_.library(); }

  void run(const CoreTeam& team, const OpBuffers& b) override {
    using kernels::input;
    const auto at = [&](std::int64_t place) {
      return place >= 0 ? kernels::output<T>(b, place) : nullptr;
    };
    const auto gradient = [&](std::int64_t place) {
      return place >= 0 ? input<T>(b, place) : nullptr;
    };
    T* dz = kernels::workspace<T>(b);
    void* scratch = kernels::workspace<void>(b, dz_bytes());
    CpuLauncher launcher(team);
    kernels::lstm_gates_backward<T>(launcher, a_, gradient(a_.dh_next), gradient(a_.dc_next),
                                    input<T>(b, a_.x + 2), input<T>(b, a_.x + 4),
                                    input<T>(b, a_.x + 5), dz, at(a_.dc));
    const T* weights = input<T>(b, a_.x + 3);
    const std::int64_t of_h = a_.inputs * a_.gates();
    if (T* dx = at(a_.dx)) {
      products_.run(to_x_, team, dz, weights, dx, scratch);
    }
    if (T* dh = at(a_.dh)) {
      products_.run(to_h_, team, dz, weights + of_h, dh, scratch);
    }
    if (T* dweights = at(a_.dweights)) {
      products_.run(to_weights_of_x_, team, input<T>(b, a_.x), dz, dweights, scratch);
      products_.run(to_weights_of_h_, team, input<T>(b, a_.x + 1), dz, dweights + of_h, scratch);
    }
    if (T* dbias = at(a_.dbias)) {
      kernels::lstm_bias_backward<T>(launcher, a_, dz, dbias, scratch);
    }
  }

 private:
  std::int64_t dz_bytes() const {
    return kernels::aligned(a_.n * a_.gates() * std::int64_t{sizeof(T)});
  }

  kernels::LstmBackwardSite a_;
  Products products_;
  std::size_t to_x_ = 0;
  std::size_t to_h_ = 0;
  std::size_t to_weights_of_x_ = 0;
  std::size_t to_weights_of_h_ = 0;
};

template <template <class> class Program>
std::unique_ptr<CpuProgram> make(const OpSite& site, const CoreTeam& team) {
  SiteReader reader(site);
  std::unique_ptr<CpuProgram> program;
  switch (kernels::element_type(site).value_or(DataType::kBool)) {
    case DataType::kFloat32:
      program = std::make_unique<Program<float>>(reader, team);
      break;
    case DataType::kBfloat16:
      program = std::make_unique<Program<Bfloat16>>(reader, team);
      break;
    default:
      return nullptr;
  }
  return reader.fits() ? std::move(program) : nullptr;
}

}  // namespace

std::unique_ptr<CpuProgram> compile_lstm_for_cpu(const OpSite& site, const CoreTeam& team) {
  return site.op.kind == "lstm_cell" ? make<LstmProgram>(site, team)
                                     : make<LstmBackwardProgram>(site, team);
}

}  // namespace emplace::calibrate
