#include "policy.hpp"

#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace emplace::agents::rnn {
namespace {

constexpr std::size_t kNeighbours = 6;  // producers, and consumers, that the grouper reads
// The grouper reads large numbers, as the papers' do. So at first each item has one group of high
// probability, and similar items have the same. With uniform probabilities no grouping, and so no
// placement of groups, would be better than another on average, and nothing would be learned.
constexpr double kGrouperScale = 10;
constexpr std::size_t kShapesOfGroup = 4;  // outputs whose dimensions are summed over its items

// Sets a row to the shares of the kinds.
template <class Scalar>
void write_kinds(const std::vector<float>& kinds, const nn::MatrixView<Scalar>& x,
                 std::size_t row) {
  const float sum = std::accumulate(kinds.begin(), kinds.end(), 0.0F);
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    x(row, kind) = static_cast<Scalar>(kinds[kind] / sum);
  }
}

// Divides numbers of a row by their largest plus 1, as TensorFlow's hierarchical controller does.
template <class Scalar>
void normalize(const nn::MatrixView<Scalar>& x, std::size_t row, std::size_t begin,
               std::size_t count) {
  Scalar most = 0;
  for (std::size_t i = begin; i < begin + count; ++i) {
    most = std::max(most, x(row, i));
  }
  for (std::size_t i = begin; i < begin + count; ++i) {
    x(row, i) /= most + 1;
  }
}

}  // namespace

template <class Scalar>
RecurrentPolicy<Scalar>::RecurrentPolicy(const PolicyOptions& options, std::size_t num_devices)
    : options_(options) {
  embedding_ = parameters_.add("embedding", num_kinds(), options.embedding);
  std::size_t width = item_width();
  if (options.groups > 0) {
    grouper_ = Grouper{parameters_.add("grouper/hidden", width, options.grouper_hidden),
                       parameters_.add("grouper/groups", options.grouper_hidden, options.groups)};
    width = num_kinds() + kShapesOfGroup * kDimensions + options.groups;
  }
  placer_ = std::make_unique<SequencePlacer<Scalar>>(options, width, num_devices, parameters_);
}

template <class Scalar>
std::size_t RecurrentPolicy<Scalar>::item_width() const {
  return options_.embedding + kShapes * kDimensions +
         (options_.groups > 0 ? 2 * kNeighbours : options_.adjacency);
}

template <class Scalar>
nn::Value RecurrentPolicy<Scalar>::item_features(nn::Tape<Scalar>& tape,
                                                 std::span<const Item> items) const {
  const bool is_grouped = options_.groups > 0;
  const nn::Value kinds = tape.input(items.size(), num_kinds());
  const nn::Value rest = tape.input(items.size(), item_width() - options_.embedding);
  const nn::MatrixView<Scalar> x = tape.value(rest);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    write_kinds(item.kinds, tape.value(kinds), i);
    std::size_t column = 0;
    for (const std::int64_t dimension : item.shapes) {
      const double number = scaled_dimension(static_cast<double>(dimension), is_grouped ? -1 : 0);
      x(i, column++) = static_cast<Scalar>(is_grouped ? kGrouperScale * number : number);
    }
    for (const std::vector<std::int32_t>* neighbours : {&item.producers, &item.consumers}) {
      for (std::size_t n = 0; n < (is_grouped ? kNeighbours : neighbours->size()); ++n) {
        if (!is_grouped) {
          x(i, column + static_cast<std::size_t>((*neighbours)[n]) % options_.adjacency) = 1;
        } else if (n < neighbours->size()) {
          const Item& neighbour = items[static_cast<std::size_t>((*neighbours)[n])];
          x(i, column++) = static_cast<Scalar>(kGrouperScale * neighbour.breadth_first /
                                               static_cast<double>(items.size()));
        } else {
          x(i, column++) = -1;
        }
      }
    }
  }
  return tape.concat(std::array{tape.affine(kinds, embedding_, nn::Activation::kNone), rest});
}

template <class Scalar>
nn::Value RecurrentPolicy<Scalar>::group_features(nn::Tape<Scalar>& tape,
                                                  std::span<const Item> items,
                                                  const GroupedDraw& drawn) const {
  const std::size_t shapes = num_kinds();
  const std::size_t edges = shapes + kShapesOfGroup * kDimensions;
  const nn::Value features = tape.input(options_.groups, edges + options_.groups);
  const nn::MatrixView<Scalar> x = tape.value(features);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const auto row = static_cast<std::size_t>(drawn.group_of[i]);
    for (std::size_t kind = 0; kind < item.kinds.size(); ++kind) {
      x(row, kind) += static_cast<Scalar>(item.kinds[kind]);
    }
    for (std::size_t d = 0; d < kShapesOfGroup * kDimensions; ++d) {
      x(row, shapes + d) += static_cast<Scalar>(std::max<std::int64_t>(0, item.shapes[d]));
    }
    for (const std::vector<std::int32_t>* neighbours : {&item.producers, &item.consumers}) {
      for (const std::int32_t neighbour : *neighbours) {
        const auto other =
            static_cast<std::size_t>(drawn.group_of[static_cast<std::size_t>(neighbour)]);
        x(row, edges + other) += 1;
      }
    }
  }
  for (std::size_t row = 0; row < options_.groups; ++row) {
    normalize(x, row, 0, shapes);
    for (std::size_t d = shapes; d < edges; ++d) {
      x(row, d) = static_cast<Scalar>(scaled_dimension(static_cast<double>(x(row, d)), 0));
    }
    normalize(x, row, edges, options_.groups);
  }
  return features;
}

template <class Scalar>
void RecurrentPolicy<Scalar>::place(nn::Tape<Scalar>& tape, std::span<const Item> items,
                                    ActionSampler& sampler, double noise,
                                    GroupedDraw& drawn) const {
  const nn::Value features = item_features(tape, items);
  if (!grouper_) {
    drawn.group_of.resize(items.size());
    std::iota(drawn.group_of.begin(), drawn.group_of.end(), 0);
    placer_->place(tape, features, sampler, noise, drawn.draw);
    return;
  }
  const nn::Value logits =
      tape.affine(tape.affine(features, grouper_->hidden, nn::Activation::kRelu), grouper_->groups,
                  nn::Activation::kNone);
  drawn.group_of.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    drawn.group_of.push_back(sampler.sample(tape.value(logits), i));
  }
  drawn.log_probabilities = tape.log_probability(logits, drawn.group_of);
  placer_->place(tape, group_features(tape, items, drawn), sampler, noise, drawn.draw);
}

template class RecurrentPolicy<float>;
template class RecurrentPolicy<double>;

}  // namespace emplace::agents::rnn
