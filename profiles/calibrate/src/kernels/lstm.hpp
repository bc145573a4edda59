#pragma once

// What an LSTM cell does beside its products, which a library computes: the sites' own structure,
// the gates, and their gradients. Gates stand in the order input, forget, memory, output; z is what
// the products give, [N, 4H].
//
//     lstm_cell:           reads x, h, c, weights, bias; makes h', c', gates
//     lstm_cell_backward:  reads dh' and dc' (of which one may be missing), x, h, c, weights, c',
//                          gates; makes those of dx, dh, dc, dweights, dbias that are wanted

#include "elementwise.hpp"
#include "skeleton.hpp"

#include <cmath>

namespace emplace::calibrate::kernels {

/// [N, I, H]: batch, numbers of the input, numbers of the state.
struct LstmShape {
  std::int64_t n;
  std::int64_t inputs;
  std::int64_t states;

  explicit LstmShape(SiteReader& site)
      : n(site.dimension(0)), inputs(site.dimension(1)), states(site.dimension(2)) {}
  std::int64_t gates() const { return 4 * states; }
};

/// Tells where the tensors of a gradient stand; -1 for one that is missing.
struct LstmBackwardSite : LstmShape {
  std::int64_t dh_next = -1;
  std::int64_t dc_next = -1;
  std::int64_t x = -1;  ///< followed by h, c, weights, c', gates
  std::int64_t dx = -1;
  std::int64_t dh = -1;
  std::int64_t dc = -1;
  std::int64_t dweights = -1;
  std::int64_t dbias = -1;

  // Of h' and c', h' has a gradient if only one has. h and c, which come from one cell, are both
  // wanted or neither, which tells dx from them where all have one shape.
  explicit LstmBackwardSite(SiteReader& site) : LstmShape(site) {
    const std::int64_t gradients = site.num_inputs() - 6;
    site.expect(gradients == 1 || gradients == 2);
    dh_next = 0;
    dc_next = gradients == 2 ? 1 : -1;
    x = gradients;
    std::int64_t next = site.num_outputs();
    const auto take_last = [&](std::initializer_list<std::int64_t> shape) {
      const bool is_wanted = next > 0 && site.output_shape(next - 1) == std::vector(shape);
      return is_wanted ? --next : std::int64_t{-1};
    };
    dbias = take_last({gates()});
    dweights = take_last({inputs + states, gates()});
    if (next >= 2) {
      dc = take_last({n, states});
      dh = take_last({n, states});
    }
    dx = take_last({n, inputs});
    site.expect(next == 0);
  }
};

/// Makes h', c' and the gates after their activations. In place: z may be `gates`.
template <class T, class Launcher>
void lstm_gates(Launcher& launcher, const LstmShape& shape, const T* z, const T* bias, const T* c,
                T* h_next, T* c_next, T* gates) {
  const std::int64_t states = shape.states;
  launcher.map(shape.n, states, [=] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
    const std::int64_t at = row * 4 * states + column;
    const std::int64_t state = row * states + column;
    const float i = logistic(float(z[at]) + float(bias[column]));
    const float f = logistic(float(z[at + states]) + float(bias[states + column]));
    const float g = tanhf(float(z[at + 2 * states]) + float(bias[2 * states + column]));
    const float o = logistic(float(z[at + 3 * states]) + float(bias[3 * states + column]));
    const float memory = f * float(c[state]) + i * g;
    gates[at] = T(i);
    gates[at + states] = T(f);
    gates[at + 2 * states] = T(g);
    gates[at + 3 * states] = T(o);
    c_next[state] = T(memory);
    h_next[state] = T(o * tanhf(memory));
  });
}

/// Makes dz, the gradient of the gates before their activations, and dc unless it is null. dh_next
/// or dc_next may be null.
template <class T, class Launcher>
void lstm_gates_backward(Launcher& launcher, const LstmShape& shape, const T* dh_next,
                         const T* dc_next, const T* c, const T* c_next, const T* gates, T* dz,
                         T* dc) {
  const std::int64_t states = shape.states;
  launcher.map(shape.n, states, [=] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
    const std::int64_t at = row * 4 * states + column;
    const std::int64_t state = row * states + column;
    const float i = float(gates[at]);
    const float f = float(gates[at + states]);
    const float g = float(gates[at + 2 * states]);
    const float o = float(gates[at + 3 * states]);
    const float squashed = tanhf(float(c_next[state]));
    const float dh = dh_next != nullptr ? float(dh_next[state]) : 0;
    const float dmemory =
        (dc_next != nullptr ? float(dc_next[state]) : 0) + dh * o * (1 - squashed * squashed);
    dz[at] = T(dmemory * g * i * (1 - i));
    dz[at + states] = T(dmemory * float(c[state]) * f * (1 - f));
    dz[at + 2 * states] = T(dmemory * i * (1 - g * g));
    dz[at + 3 * states] = T(dh * squashed * o * (1 - o));
    if (dc != nullptr) {
      dc[state] = T(dmemory * f);
    }
  });
}

/// Makes dbias, the sum of dz over the batch.
template <class T, class Launcher>
void lstm_bias_backward(Launcher& launcher, const LstmShape& shape, const T* dz, T* dbias,
                        void* workspace) {
  const std::int64_t columns = shape.gates();
  launcher.template reduce_columns<Total>(
      shape.n, columns,
      [=] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
        return Total{float(dz[row * columns + column])};
      },
      [=] EMPLACE_BODY(std::int64_t column, const Total& sum) { dbias[column] = T(sum.value); },
      workspace);
}

}  // namespace emplace::calibrate::kernels
