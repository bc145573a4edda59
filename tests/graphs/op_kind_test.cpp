#include <emplace/graphs/op.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace emplace::op_kind_test {
namespace {

TEST(OpKind, IsFoundByItsName) {
  for (const OpKind& kind : op_kinds()) {
    EXPECT_EQ(find_op_kind(kind.name), &kind);
    EXPECT_FALSE(kind.shape.empty()) << kind.name;
    EXPECT_FALSE(kind.summary.empty()) << kind.name;
  }
  EXPECT_EQ(find_op_kind("convolution"), nullptr);
  EXPECT_EQ(find_op_kind(""), nullptr);
  EXPECT_EQ(find_op_kind("zzz"), nullptr);
}

TEST(OpKind, AGradientIsOfItsForwardOpsClassAndHasItsShape) {
  for (const std::string name : {"avg_pool",
                                 "balance_loss",
                                 "batch_norm",
                                 "dropout",
                                 "embedding",
                                 "embedding_bag",
                                 "gelu",
                                 "layer_norm",
                                 "lower_triangle",
                                 "lstm_cell",
                                 "max_pool",
                                 "mean_squared_error",
                                 "moe_combine",
                                 "moe_dispatch",
                                 "relu",
                                 "rms_norm",
                                 "shift2d",
                                 "sigmoid",
                                 "sigmoid_cross_entropy",
                                 "silu",
                                 "slice",
                                 "softmax",
                                 "softmax_cross_entropy",
                                 "tanh",
                                 "top_k"}) {
    const OpKind* forward = find_op_kind(name);
    const OpKind* backward = find_op_kind(name + "_backward");
    ASSERT_TRUE(forward != nullptr && backward != nullptr) << name;
    EXPECT_EQ(forward->op_class, backward->op_class) << name;
    EXPECT_EQ(forward->shape, backward->shape) << name;
  }
  for (const std::string name : {"conv2d", "depthwise_conv2d"}) {
    for (const char* ending : {"_backward_data", "_backward_filter"}) {
      const OpKind* forward = find_op_kind(name);
      const OpKind* backward = find_op_kind(name + ending);
      ASSERT_TRUE(forward != nullptr && backward != nullptr) << name << ending;
      EXPECT_EQ(forward->op_class, backward->op_class) << name << ending;
      EXPECT_EQ(forward->shape, backward->shape) << name << ending;
    }
  }
}

TEST(OpKind, OnlyOpsWithoutWorkLaunchNothing) {
  std::set<std::string_view> silent;
  for (const OpKind& kind : op_kinds()) {
    if (!launches(kind.name)) {
      silent.insert(kind.name);
    }
  }
  EXPECT_EQ(silent,
            (std::set<std::string_view>{"constant", "input", "no_op", "reshape", "variable"}));
}

TEST(OpKind, OnlyElementwiseOpsWorkInPlaceAndOnlyAReshapeIsAView) {
  for (const OpKind& kind : op_kinds()) {
    if (kind.memory == ResultMemory::kInPlace) {
      EXPECT_EQ(kind.op_class, OpClass::kElementwise) << kind.name;
    }
    EXPECT_EQ(kind.memory == ResultMemory::kView, kind.name == "reshape") << kind.name;
  }
  EXPECT_EQ(result_memory_of("relu"), ResultMemory::kInPlace);
  EXPECT_EQ(result_memory_of("conv2d"), ResultMemory::kOwn);
}

TEST(OpKind, AnUnknownKindLaunchesAndIsOfNoClass) {
  EXPECT_EQ(result_memory_of("frobnicate"), ResultMemory::kOwn);
  EXPECT_EQ(op_class_of("fft"), OpClass::kOther);
  EXPECT_TRUE(launches("fft"));
}

// By PyTorch's sources: a group norm takes moments of rows, factors, and a multiply-add; four
// terms have three sums; cuDNN runs a product of all inputs, then two kernels for each step.
TEST(OpKind, TellsHowManyKernelsPyTorchStarts) {
  EXPECT_EQ(num_kernels({.kind = "relu"}), 1);
  EXPECT_EQ(num_kernels({.kind = "exp_backward"}), 1);
  EXPECT_EQ(num_kernels({.kind = "reshape"}), 0);
  EXPECT_EQ(num_kernels({.kind = "slice_view"}), 0);
  EXPECT_EQ(num_kernels({.kind = "my_own"}), 1);
  EXPECT_EQ(num_kernels({.kind = "layer_norm"}), 1);
  EXPECT_EQ(num_kernels({.kind = "layer_norm_backward"}), 2);
  EXPECT_EQ(num_kernels({.kind = "group_norm"}), 3);
  EXPECT_EQ(num_kernels({.kind = "group_norm_backward"}), 5);
  EXPECT_EQ(num_kernels({.kind = "add_n", .shape = {4, 100}}), 3);
  EXPECT_EQ(num_kernels({.kind = "lstm", .shape = {10, 4, 8, 8, 2}}), 2 * (1 + 2 * 10));
  EXPECT_EQ(num_kernels({.kind = "lstm_backward", .shape = {10, 4, 8, 8, 2}}), 2 * (1 + 2 * 10));
  for (const OpKind& kind : op_kinds()) {
    EXPECT_EQ(num_kernels({.kind = std::string(kind.name)}) > 0, kind.launches) << kind.name;
  }
}

TEST(OpKind, ImportedKindsHaveAClassAndSoHaveTheirGradients) {
  for (const OpKind& kind : imported_op_kinds()) {
    EXPECT_EQ(find_op_kind(kind.name), nullptr) << kind.name;
    EXPECT_NE(kind.op_class, OpClass::kOther) << kind.name;
    EXPECT_EQ(launches(kind.name), kind.memory != ResultMemory::kView) << kind.name;
    EXPECT_EQ(op_class_of(kind.name), kind.op_class);
    EXPECT_EQ(op_class_of(std::string(kind.name) + "_backward"), kind.op_class) << kind.name;
    EXPECT_FALSE(kind.shape.empty() || kind.summary.empty()) << kind.name;
  }
  EXPECT_EQ(op_class_of("grouped_conv_backward_filter"), OpClass::kConvolution);
  EXPECT_EQ(result_memory_of("exp"), ResultMemory::kInPlace);
  EXPECT_EQ(result_memory_of("exp_backward"), ResultMemory::kOwn);
}

TEST(OpClass, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kNumOpClasses; ++i) {
    names.insert(to_string(static_cast<OpClass>(i)));
  }
  EXPECT_EQ(names.size(), kNumOpClasses);
}

// Names that traces of PyTorch and graphs of TensorFlow have, which are no kinds of ours.
TEST(OpKind, OperatorsOfOthersHaveAClass) {
  EXPECT_EQ(op_class_of("scaled_dot_product_attention"), OpClass::kMatmul);
  EXPECT_EQ(op_class_of("scaled_dot_product_attention_backward"), OpClass::kMatmul);
  EXPECT_EQ(op_class_of("convolution_backward"), OpClass::kConvolution);
  EXPECT_EQ(op_class_of("lstm"), OpClass::kMatmul);
  EXPECT_EQ(op_class_of("_fused_adam"), OpClass::kUpdate);
  EXPECT_EQ(op_class_of("index_put"), OpClass::kDataMovement);
  EXPECT_EQ(op_class_of("assignadd"), OpClass::kUpdate);
  EXPECT_EQ(op_class_of("my_own_operator"), OpClass::kOther);
  EXPECT_EQ(find_op_kind("scaled_dot_product_attention"), nullptr) << "it has no shape of ours";
}

}  // namespace
}  // namespace emplace::op_kind_test
