// Layers of every shape on every kind of vector that this machine has: against the definition, and
// against one another bit for bit.

#include "agents/src/nn/arena.hpp"
#include "agents/src/nn/kernels.hpp"
#include "agents/src/nn/matrix.hpp"
#include "agents/src/nn/segment_sum.hpp"

#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace::agents::nn::nn_kernels_test {
namespace {

constexpr std::size_t kWidths[] = {16, 32, 64};

struct Shape {
  std::size_t rows;
  std::size_t inputs;
  std::size_t outputs;
};

constexpr Shape kShapes[] = {{1, 1, 1},   {16, 7, 7},    {17, 9, 9},   {40, 3, 11}, {33, 8, 2},
                             {48, 56, 5}, {100, 14, 14}, {5, 18, 31},  {0, 4, 6},   {4, 32, 64},
                             {3, 21, 80}, {2, 5, 35},    {300, 17, 18}};

// The matrices of a layer, with random numbers in all rows that are read and zeros beyond.
struct Case {
  explicit Case(const Shape& of) : shape(of), random(shape.rows * 31 + shape.outputs) {
    x = matrix(shape.inputs);
    y = matrix(shape.outputs);
    dx = matrix(shape.inputs);
    dy = matrix(shape.outputs);
    fill(x);
    fill(dy);
    for (std::size_t i = 0; i < shape.inputs * shape.outputs; ++i) {
      weights.push_back(number());
    }
    for (std::size_t i = 0; i < shape.outputs; ++i) {
      bias.push_back(number());
    }
    dw.resize(weights.size());
    db.resize(bias.size());
  }

  MatrixView<float> matrix(std::size_t columns) {
    MatrixView<float> view{nullptr, shape.rows, columns};
    view.data = arena.allocate(view.size());
    std::fill_n(view.data, view.size(), 0.0F);
    return view;
  }

  float number() { return static_cast<float>(random.uniform() - 0.5); }

  void fill(const MatrixView<float>& view) {
    for (std::size_t row = 0; row < view.rows; ++row) {
      for (std::size_t column = 0; column < view.columns; ++column) {
        view(row, column) = number();
      }
    }
  }

  void run(const Kernels<float>& kernels) {
    const LayerArguments<float> layer{weights.data(), shape.inputs, shape.outputs, x.panels()};
    kernels.affine(layer, x.data, bias.data(), true, y.data);
    kernels.input_gradient(layer, dy.data, false, dx.data);
    kernels.input_gradient(layer, dy.data, true, dx.data);
    const UseArguments<float> use{x.data, dy.data, x.panels()};
    kernels.weight_gradient(layer, &use, 1, dw.data(), db.data());
  }

  Shape shape;
  RandomStream random;
  Arena<float> arena;
  MatrixView<float> x, y, dx, dy;
  std::vector<float> weights, bias, dw, db;
};

TEST(NnKernels, ComputeALayerAndItsGradients) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(testing::Message()
                 << shape.rows << " rows, " << shape.inputs << " to " << shape.outputs);
    Case c(shape);
    c.run(kernels<float>());
    for (std::size_t row = 0; row < shape.rows; ++row) {
      for (std::size_t j = 0; j < shape.outputs; ++j) {
        double sum = c.bias[j];
        for (std::size_t i = 0; i < shape.inputs; ++i) {
          sum += double{c.x(row, i)} * c.weights[i * shape.outputs + j];
        }
        EXPECT_NEAR(c.y(row, j), std::max(sum, 0.0), 1e-5);
      }
      for (std::size_t i = 0; i < shape.inputs; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < shape.outputs; ++j) {
          sum += double{c.dy(row, j)} * c.weights[i * shape.outputs + j];
        }
        EXPECT_NEAR(c.dx(row, i), 2 * sum, 1e-5);  // set, then added to
      }
    }
    for (std::size_t j = 0; j < shape.outputs; ++j) {
      double bias_sum = 0;
      for (std::size_t row = 0; row < shape.rows; ++row) {
        bias_sum += c.dy(row, j);
      }
      EXPECT_NEAR(c.db[j], bias_sum, 1e-5);
      for (std::size_t i = 0; i < shape.inputs; ++i) {
        double sum = 0;
        for (std::size_t row = 0; row < shape.rows; ++row) {
          sum += double{c.x(row, i)} * c.dy(row, j);
        }
        EXPECT_NEAR(c.dw[i * shape.outputs + j], sum, 1e-5);
      }
    }
  }
}

TEST(NnKernels, GiveTheSameBitsForRowsInSeveralUses) {
  for (const std::size_t bytes : {16U, 32U, 64U}) {
    const Kernels<float>* const loops = find_kernels<float>(bytes);
    if (loops == nullptr) {
      continue;
    }
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(testing::Message() << shape.rows << " rows, " << shape.inputs << " to "
                                      << shape.outputs << ", " << bytes << " bytes");
      Case plain(shape);
      plain.run(*loops);
      Case other(shape);
      std::vector<UseArguments<float>> uses;  // of one panel, of two, and so on
      for (std::size_t first = 0; first < other.x.panels();) {
        const std::size_t panels = std::min(uses.size() + 1, other.x.panels() - first);
        uses.push_back({other.x.data + first * kLanes * shape.inputs,
                        other.dy.data + first * kLanes * shape.outputs, panels});
        first += panels;
      }
      loops->weight_gradient({other.weights.data(), shape.inputs, shape.outputs, other.x.panels()},
                             uses.data(), uses.size(), other.dw.data(), other.db.data());
      EXPECT_EQ(other.dw, plain.dw);
      EXPECT_EQ(other.db, plain.db);
    }
  }
}

// Returns the weights of a layer, or their transpose, in tiles.
PackedWeights<float> packed(Case& c, bool is_transposed) {
  const std::size_t inputs = is_transposed ? c.shape.outputs : c.shape.inputs;
  const std::size_t outputs = is_transposed ? c.shape.inputs : c.shape.outputs;
  const std::size_t size = (outputs + kLanes - 1) / kLanes * kLanes * inputs;
  float* const tiles = c.arena.allocate(size);
  std::fill_n(tiles, size, 0.0F);
  for (std::size_t i = 0; i < inputs; ++i) {
    for (std::size_t j = 0; j < outputs; ++j) {
      tiles[(j / kLanes * inputs + i) * kLanes + j % kLanes] =
          c.weights[is_transposed ? j * inputs + i : i * outputs + j];
    }
  }
  return {tiles, inputs, outputs};
}

// Returns a matrix as rows.
MatrixView<float> in_rows(Case& c, const MatrixView<float>& from) {
  MatrixView<float> rows{nullptr, from.rows, from.columns, Layout::kRows};
  rows.data = c.arena.allocate(rows.size());
  for (std::size_t row = 0; row < from.rows; ++row) {
    for (std::size_t column = 0; column < from.columns; ++column) {
      rows(row, column) = from(row, column);
    }
  }
  return rows;
}

// Returns a matrix in lanes and blocks of 16 columns.
const float* in_lanes(Case& c, const MatrixView<float>& from, const RowLanes& rows) {
  const std::size_t size = (from.columns + kLanes - 1) / kLanes * kLanes * rows.lanes * rows.rows;
  float* const to = c.arena.allocate(size);
  std::fill_n(to, size, 0.0F);
  for (std::size_t row = 0; row < from.rows; ++row) {
    for (std::size_t column = 0; column < from.columns; ++column) {
      const std::size_t block = column / kLanes * rows.lanes + row % kLanes;
      to[(block * rows.rows + row / kLanes) * kLanes + column % kLanes] = from(row, column);
    }
  }
  return to;
}

TEST(NnKernels, GiveTheSameBitsInRows) {
  for (const std::size_t bytes : kWidths) {
    const Kernels<float>* const loops = find_kernels<float>(bytes);
    if (loops == nullptr) {
      continue;
    }
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(testing::Message() << shape.rows << " rows, " << shape.inputs << " to "
                                      << shape.outputs << ", " << bytes << " bytes");
      Case c(shape);
      c.run(*loops);
      const MatrixView<float> x = in_rows(c, c.x);
      const MatrixView<float> dy = in_rows(c, c.dy);
      const MatrixView<float> y = in_rows(c, c.y);
      const MatrixView<float> dx = in_rows(c, c.dx);
      for (std::size_t row = 0; row < shape.rows; ++row) {
        std::ranges::copy(c.bias, y.row(row));
      }
      std::fill_n(dx.data, dx.size(), 0.0F);
      loops->add_product(packed(c, false), shape.rows, x.data, y.data);
      for (int i = 0; i < 2; ++i) {
        loops->add_product(packed(c, true), shape.rows, dy.data, dx.data);
      }
      for (std::size_t row = 0; row < shape.rows; ++row) {
        for (std::size_t j = 0; j < shape.outputs; ++j) {
          ASSERT_EQ(std::max(0.0F, y(row, j)), c.y(row, j));
        }
        for (std::size_t j = 0; j < shape.inputs; ++j) {
          ASSERT_EQ(dx(row, j), c.dx(row, j));
        }
      }
      const RowLanes rows{std::min(kLanes, std::bit_ceil(shape.rows)),
                          (shape.rows + kLanes - 1) / kLanes};
      std::vector<float> dw(c.dw.size());
      std::vector<float> db(c.db.size());
      loops->weight_gradient_of_rows({c.weights.data(), shape.inputs, shape.outputs, 0}, rows,
                                     in_lanes(c, c.x, rows), in_lanes(c, c.dy, rows), dw.data(),
                                     db.data());
      EXPECT_EQ(dw, c.dw);
      EXPECT_EQ(db, c.db);
    }
  }
}

TEST(NnKernels, GiveTheSameBitsWithVectorsOfAnyWidth) {
  int compared = 0;
  for (const Shape& shape : kShapes) {
    Case narrow(shape);
    narrow.run(*find_kernels<float>(16));
    for (const std::size_t bytes : kWidths) {
      const Kernels<float>* wide = find_kernels<float>(bytes);
      if (wide == nullptr) {
        continue;
      }
      SCOPED_TRACE(testing::Message() << bytes << " bytes");
      Case other(shape);
      other.run(*wide);
      EXPECT_TRUE(std::equal(narrow.y.data, narrow.y.data + narrow.y.size(), other.y.data));
      EXPECT_TRUE(std::equal(narrow.dx.data, narrow.dx.data + narrow.dx.size(), other.dx.data));
      EXPECT_EQ(narrow.dw, other.dw);
      EXPECT_EQ(narrow.db, other.db);
      compared += bytes > 16;
    }
  }
  if (compared == 0) {
    GTEST_SKIP() << "this processor has vectors of 16 bytes only";
  }
}

// Sums of 0 to 4 rows of two sources, and their gradients, for each number of lanes.
TEST(NnKernels, SumSegmentsToTheSameBitsWithVectorsOfAnyWidth) {
  constexpr std::size_t kRows = 7;
  for (const std::size_t lanes : {1U, 2U, 4U, 8U, 16U}) {
    for (const std::size_t columns : {1U, 10U, 13U, 27U}) {
      for (const Combine combine : {Combine::kSum, Combine::kMean}) {
        std::vector<std::vector<float>> results;  // by width
        for (const std::size_t width : kWidths) {
          const Kernels<float>* const loops = find_kernels<float>(width);
          if (loops == nullptr) {
            continue;
          }
          Case c({kRows * lanes, columns, columns});
          SegmentSum sums;
          for (std::size_t row = 0; row < kRows; ++row) {
            for (std::size_t entry = 0; entry < row % 5; ++entry) {
              sums.add(static_cast<std::int32_t>(c.random.below(2)),
                       static_cast<std::int32_t>(c.random.below(kRows)));
            }
            sums.end_row();
          }
          const SegmentArguments arguments = arguments_of(sums, lanes, combine);
          const std::array sources = {c.x, c.dy};
          loops->segment_sum(arguments, sources.data(), c.y);
          const std::array gradients = {c.dx, MatrixView<float>{}};  // the second needs none
          loops->add_segment_sum_gradients(arguments, c.y, gradients.data());
          std::vector<float>& all = results.emplace_back();
          for (const MatrixView<float>& matrix : {c.y, c.dx}) {
            all.insert(all.end(), matrix.data, matrix.data + matrix.size());
          }
        }
        for (const std::vector<float>& result : results) {
          EXPECT_EQ(result, results.front()) << lanes << " lanes, " << columns << " columns";
        }
      }
    }
  }
}

TEST(NnArena, StaysWhereItIsAndIsUsedAgain) {
  Arena<float> arena;
  float* const first = arena.allocate(10);
  first[9] = 1;
  float* const large = arena.allocate(1'000'000);
  large[999'999] = 2;
  EXPECT_EQ(first[9], 1);
  arena.clear();
  float* const again = arena.allocate(10);
  arena.allocate(1'000'000);
  arena.clear();
  EXPECT_EQ(arena.allocate(10), again);  // both fit what is one block now
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(again) % 64, 0U);
}

}  // namespace
}  // namespace emplace::agents::nn::nn_kernels_test
