// Inception-V3 (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for
// Computer Vision, CVPR 2016, arXiv 1512.00567, table 1 and figures 5 to 7), in the layout of the
// published TF-slim and torchvision models. Each convolution is followed by batch_norm and relu.
//
// Scopes are what the human expert's rules read: "stem/...", then "mixed_5b/branch_0" and so on,
// then "logits" and "auxiliary". A branch is numbered by its role, also where another is missing:
// 0 the 1x1 convolution, 1 the short branch of larger windows, 2 the long one, 3 the pool. A
// block's concat stands in the block's own scope.

#include "training_model.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

namespace emplace {
namespace {

class InceptionV3 {
 public:
  explicit InceptionV3(std::int64_t batch)
      : net_("inception-v3", "Szegedy et al. 2015, arXiv 1512.00567"), batch_(batch) {}

  OpGraph build(bool auxiliary) && {
    Tensor images;
    Tensor labels;
    {
      const auto scope = net_.scope("input");
      images = net_.input("images", {batch_, 3, 299, 299});
      labels = net_.input("labels", {batch_}, DataType::kInt32);
    }
    Tensor x = stem(images);
    x = block_35("mixed_5b", x, 32);
    x = block_35("mixed_5c", x, 64);
    x = block_35("mixed_5d", x, 64);
    x = reduction_35_to_17("mixed_6a", x);
    x = block_17("mixed_6b", x, 128);
    x = block_17("mixed_6c", x, 160);
    x = block_17("mixed_6d", x, 160);
    x = block_17("mixed_6e", x, 192);
    std::vector<Tensor> losses;
    if (auxiliary) {
      losses.push_back(auxiliary_loss(x, labels));
    }
    x = reduction_17_to_8("mixed_7a", x);
    x = block_8("mixed_7b", x);
    x = block_8("mixed_7c", x);
    {
      const auto scope = net_.scope("logits");
      x = net_.dropout(net_.global_avg_pool(x));
      losses.push_back(net_.softmax_cross_entropy(net_.dense(x, kClasses), labels));
      if (auxiliary) {
        net_.add_losses(losses);
      }
    }
    return std::move(net_).finish();
  }

 private:
  static constexpr std::int64_t kClasses = 1000;
  static constexpr Pool2d kMaxPool{.kernel = 3, .stride = 2, .padding = Padding::kValid};
  static constexpr Pool2d kSmooth{.kernel = 3, .stride = 1, .padding = Padding::kSame};

  Tensor conv(Tensor x, std::int64_t filters, std::array<std::int64_t, 2> kernel,
              std::int64_t stride = 1, Padding padding = Padding::kSame) {
    return net_.relu(net_.batch_norm(net_.conv2d(
        x, {.filters = filters, .kernel = kernel, .stride = stride, .padding = padding})));
  }

  // The 3x3 convolution that halves a map.
  Tensor reduce(Tensor x, std::int64_t filters) {
    return conv(x, filters, {3, 3}, 2, Padding::kValid);
  }

  [[nodiscard]] ModelBuilder::Scope branch(int role) {
    return net_.scope(fmt::format("branch_{}", role));
  }

  // 299 x 299 x 3 to 35 x 35 x 192.
  Tensor stem(Tensor x) {
    const auto scope = net_.scope("stem");
    const auto layer = [&](std::string_view name, auto&& apply) {
      const auto inner = net_.scope(name);
      x = apply();
    };
    layer("conv_1a", [&] { return reduce(x, 32); });
    layer("conv_2a", [&] { return conv(x, 32, {3, 3}, 1, Padding::kValid); });
    layer("conv_2b", [&] { return conv(x, 64, {3, 3}); });
    layer("pool_3a", [&] { return net_.max_pool(x, kMaxPool); });
    layer("conv_3b", [&] { return conv(x, 80, {1, 1}); });
    layer("conv_4a", [&] { return conv(x, 192, {3, 3}, 1, Padding::kValid); });
    layer("pool_5a", [&] { return net_.max_pool(x, kMaxPool); });
    return x;
  }

  Tensor one_by_one(Tensor x, std::int64_t filters) {
    const auto scope = branch(0);
    return conv(x, filters, {1, 1});
  }

  Tensor smoothed(Tensor x, std::int64_t filters) {
    const auto scope = branch(3);
    return conv(net_.avg_pool(x, kSmooth), filters, {1, 1});
  }

  Tensor max_pooled(Tensor x) {
    const auto scope = branch(3);
    return net_.max_pool(x, kMaxPool);
  }

  // Figure 5, with one 5x5 where the figure has two 3x3.
  Tensor block_35(std::string_view name, Tensor x, std::int64_t pool_filters) {
    const auto scope = net_.scope(name);
    std::vector parts{one_by_one(x, 64)};
    {
      const auto inner = branch(1);
      parts.push_back(conv(conv(x, 48, {1, 1}), 64, {5, 5}));
    }
    {
      const auto inner = branch(2);
      parts.push_back(conv(conv(conv(x, 64, {1, 1}), 96, {3, 3}), 96, {3, 3}));
    }
    parts.push_back(smoothed(x, pool_filters));
    return net_.concat(parts);
  }

  Tensor reduction_35_to_17(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    std::vector<Tensor> parts;
    {
      const auto inner = branch(1);
      parts.push_back(reduce(x, 384));
    }
    {
      const auto inner = branch(2);
      parts.push_back(reduce(conv(conv(x, 64, {1, 1}), 96, {3, 3}), 96));
    }
    parts.push_back(max_pooled(x));
    return net_.concat(parts);
  }

  // Figure 6: n x n windows as 1 x n and n x 1, with n = 7 and `inner_filters` within the branches.
  Tensor block_17(std::string_view name, Tensor x, std::int64_t inner_filters) {
    const auto scope = net_.scope(name);
    std::vector parts{one_by_one(x, 192)};
    {
      const auto inner = branch(1);
      Tensor y = conv(x, inner_filters, {1, 1});
      y = conv(y, inner_filters, {1, 7});
      parts.push_back(conv(y, 192, {7, 1}));
    }
    {
      const auto inner = branch(2);
      Tensor y = conv(x, inner_filters, {1, 1});
      y = conv(y, inner_filters, {7, 1});
      y = conv(y, inner_filters, {1, 7});
      y = conv(y, inner_filters, {7, 1});
      parts.push_back(conv(y, 192, {1, 7}));
    }
    parts.push_back(smoothed(x, 192));
    return net_.concat(parts);
  }

  Tensor reduction_17_to_8(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    std::vector<Tensor> parts;
    {
      const auto inner = branch(1);
      parts.push_back(reduce(conv(x, 192, {1, 1}), 320));
    }
    {
      const auto inner = branch(2);
      Tensor y = conv(x, 192, {1, 1});
      y = conv(y, 192, {1, 7});
      y = conv(y, 192, {7, 1});
      parts.push_back(reduce(y, 192));
    }
    parts.push_back(max_pooled(x));
    return net_.concat(parts);
  }

  // Figure 7: branches that fan out into 1x3 and 3x1 at their end.
  Tensor block_8(std::string_view name, Tensor x) {
    const auto scope = net_.scope(name);
    const auto fan_out = [&](Tensor y) {
      const std::array both{conv(y, 384, {1, 3}), conv(y, 384, {3, 1})};
      return net_.concat(both);
    };
    std::vector parts{one_by_one(x, 320)};
    {
      const auto inner = branch(1);
      parts.push_back(fan_out(conv(x, 384, {1, 1})));
    }
    {
      const auto inner = branch(2);
      parts.push_back(fan_out(conv(conv(x, 448, {1, 1}), 384, {3, 3})));
    }
    parts.push_back(smoothed(x, 192));
    return net_.concat(parts);
  }

  // The auxiliary classifier on the last 17 x 17 map; its loss has weight 0.4 in the paper's
  // training.
  Tensor auxiliary_loss(Tensor x, Tensor labels) {
    const auto scope = net_.scope("auxiliary");
    x = net_.avg_pool(x, {.kernel = 5, .stride = 3, .padding = Padding::kValid});
    x = conv(x, 128, {1, 1});
    x = conv(x, 768, {5, 5}, 1, Padding::kValid);
    return net_.softmax_cross_entropy(net_.dense(net_.flatten(x), kClasses), labels);
  }

  ModelBuilder net_;
  std::int64_t batch_;
};

const GraphRegistration kRegistration(training_model(
    {.name = "inception-v3",
     .summary = "image classifier with parallel branches, 299 x 299 pixels",
     .reference = "Szegedy et al., CVPR 2016, arXiv 1512.00567",
     .parameters = {{.name = "auxiliary",
                     .default_value = false,
                     .summary = "with the auxiliary classifier on mixed_6e"}},
     .forward = [](const Params& params) {
       return InceptionV3(params.get<std::int64_t>("batch")).build(params.get<bool>("auxiliary"));
     }}));

}  // namespace
}  // namespace emplace
