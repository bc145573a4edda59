#include "activation.hpp"

#include "elementwise.hpp"
#include "kernels.hpp"

namespace emplace::agents::nn {

template <class Scalar>
void apply(Activation activation, const MatrixView<Scalar>& matrix) {
  const std::size_t size = matrix.size();
  Scalar* const x = matrix.data;
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      map(
          size, x, [](Scalar number) { return number > 0 ? number : Scalar{0}; }, x);
      break;
    case Activation::kTanh:
      kernels<Scalar>().tanh(size, x);
      break;
    case Activation::kSigmoid:  // (1 + tanh(x / 2)) / 2
      map(
          size, x, [](Scalar number) { return number * Scalar{0.5}; }, x);
      kernels<Scalar>().tanh(size, x);
      map(
          size, x, [](Scalar tanh) { return Scalar{0.5} + Scalar{0.5} * tanh; }, x);
      break;
  }
}

template <class Scalar>
void differentiate(Activation activation, const MatrixView<Scalar>& y, Scalar* gradient) {
  const auto multiply_by = [&](const auto& derivative) {
    map(
        y.size(), gradient, [&](Scalar d, Scalar at) { return d * derivative(at); }, gradient,
        y.data);
  };
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      map(
          y.size(), gradient, [](Scalar d, Scalar at) { return at > 0 ? d : Scalar{0}; }, gradient,
          y.data);
      break;
    case Activation::kTanh:
      multiply_by([](Scalar at) { return 1 - at * at; });
      break;
    case Activation::kSigmoid:
      multiply_by([](Scalar at) { return at * (1 - at); });
      break;
  }
}

template void apply(Activation, const MatrixView<float>&);
template void apply(Activation, const MatrixView<double>&);
template void differentiate(Activation, const MatrixView<float>&, float*);
template void differentiate(Activation, const MatrixView<double>&, double*);

}  // namespace emplace::agents::nn
