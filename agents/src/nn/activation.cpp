#include "activation.hpp"

#include "kernels.hpp"
#include "numbers.hpp"

namespace emplace::agents::nn {

template <class Scalar>
void apply(Activation activation, const MatrixView<Scalar>& matrix) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      numbers(matrix) = (numbers(matrix) > 0).select(numbers(matrix), Scalar{0});
      break;
    case Activation::kTanh:
      kernels<Scalar>().tanh(matrix.size() / kLanes, matrix.data);
      break;
    case Activation::kSigmoid:
      numbers(matrix) *= Scalar{0.5};
      kernels<Scalar>().tanh(matrix.size() / kLanes, matrix.data);
      numbers(matrix) = Scalar{0.5} + Scalar{0.5} * numbers(matrix);
      break;
  }
}

template <class Scalar>
void differentiate(Activation activation, const MatrixView<Scalar>& y, Scalar* gradient) {
  auto d = numbers(y, gradient);
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      d = (numbers(y) > 0).select(d, Scalar{0});
      break;
    case Activation::kTanh:
      d *= 1 - numbers(y).square();
      break;
    case Activation::kSigmoid:
      d *= numbers(y) * (1 - numbers(y));
      break;
  }
}

template void apply(Activation, const MatrixView<float>&);
template void apply(Activation, const MatrixView<double>&);
template void differentiate(Activation, const MatrixView<float>&, float*);
template void differentiate(Activation, const MatrixView<double>&, double*);

}  // namespace emplace::agents::nn
