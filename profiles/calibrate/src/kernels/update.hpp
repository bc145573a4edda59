#pragma once

// One step of an optimizer, in place: of the variable, which is the second input, and of the slots
// in the op's state. A gradient of fewer numbers than the variable has is that of rows that a bag
// looked up; which ones, its op does not tell, so the first are changed.

#include "skeleton.hpp"

#include <cmath>
#include <span>
#include <string_view>
#include <variant>

namespace emplace::calibrate::kernels {

/// The constants of optimizers, which change no cost.
inline constexpr float kRate = 1e-3F;
inline constexpr float kDecay = 0.9F;
inline constexpr float kSlowDecay = 0.999F;
inline constexpr float kTiny = 1e-8F;

/// Rules for one parameter, its gradient and its slots, named as `optimizers()` are.
struct SgdRule {
  static constexpr std::string_view kName = "sgd";
  static constexpr std::int64_t kSlots = 0;
  EMPLACE_DEVICE static float step(float w, float g, float*) { return w - kRate * g; }
};
struct MomentumRule {
  static constexpr std::string_view kName = "momentum";
  static constexpr std::int64_t kSlots = 1;
  EMPLACE_DEVICE static float step(float w, float g, float* slots) {
    slots[0] = kDecay * slots[0] + g;
    return w - kRate * slots[0];
  }
};
struct RmspropRule {
  static constexpr std::string_view kName = "rmsprop";
  static constexpr std::int64_t kSlots = 2;
  EMPLACE_DEVICE static float step(float w, float g, float* slots) {
    slots[0] = kDecay * slots[0] + (1 - kDecay) * g * g;
    slots[1] = kDecay * slots[1] + kRate * g / sqrtf(slots[0] + kTiny);
    return w - slots[1];
  }
};
struct AdamRule {
  static constexpr std::string_view kName = "adam";
  static constexpr std::int64_t kSlots = 2;
  EMPLACE_DEVICE static float step(float w, float g, float* slots) {
    slots[0] = kDecay * slots[0] + (1 - kDecay) * g;
    slots[1] = kSlowDecay * slots[1] + (1 - kSlowDecay) * g * g;
    return w - kRate * slots[0] / (sqrtf(slots[1]) + kTiny);
  }
};

template <class Rule>
struct Update {
  template <class T>
  struct Op {
    std::int64_t touched;
    std::int64_t parameters;

    explicit Op(SiteReader& site) : touched(site.dimension(0)), parameters(site.input_elements(1)) {
      const auto& op = site.site().op;
      site.expect_input<T>(0, site.input_elements(0));
      site.expect_input<T>(1, parameters);
      site.expect(touched <= site.input_elements(0) && touched <= parameters);
      site.expect(op.persistent_bytes == Rule::kSlots * parameters * std::int64_t{sizeof(T)});
    }

    template <class Launcher>
    void operator()(Launcher& launcher, const OpBuffers& buffers) const {
      const T* gradient = input<T>(buffers, 0);
      T* variable = const_cast<T*>(input<T>(buffers, 1));
      T* state = static_cast<T*>(buffers.state);
      launcher.map(touched, [=, *this] EMPLACE_BODY(std::int64_t i) {
        float slots[Rule::kSlots + 1];
        for (std::int64_t slot = 0; slot < Rule::kSlots; ++slot) {
          slots[slot] = float(state[slot * parameters + i]);
        }
        variable[i] = T(Rule::step(float(variable[i]), float(gradient[i]), slots));
        for (std::int64_t slot = 0; slot < Rule::kSlots; ++slot) {
          state[slot * parameters + i] = T(slots[slot]);
        }
      });
    }
  };
};

/// Makes the update by the optimizer that the op's attributes name.
template <class Launcher>
Kernel<Launcher> make_update(const OpSite& site) {
  const auto* attributes = std::get_if<UpdateAttributes>(&site.op.attributes);
  if (site.op.shape.size() != 2 || attributes == nullptr) {
    return {};
  }
  const std::string_view optimizer = attributes->optimizer;
  if (optimizer == SgdRule::kName) {
    return make<Launcher, Update<SgdRule>::template Op>(site);
  }
  if (optimizer == MomentumRule::kName) {
    return make<Launcher, Update<MomentumRule>::template Op>(site);
  }
  if (optimizer == RmspropRule::kName) {
    return make<Launcher, Update<RmspropRule>::template Op>(site);
  }
  if (optimizer == AdamRule::kName) {
    return make<Launcher, Update<AdamRule>::template Op>(site);
  }
  return {};
}

template <class Launcher>
std::span<const NamedKernel<Launcher>> update_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"optimizer_update", make_update<Launcher>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
