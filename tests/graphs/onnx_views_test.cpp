// Which nodes of ONNX copy.

#ifdef EMPLACE_HAS_LIBONNX

#include <gmock/gmock.h>
#include <graphs/onnx_model.hpp>
#include <support/graphs.hpp>

namespace emplace::onnx_views_test {
namespace {

using test::count_kinds;
using test::find;
using test::import;
using test::model;
using testing::ElementsAre;

TEST(OnnxViews, HeadsTakeTimeWhereTheyAreJoinedAgain) {
  const OpGraph graph = import(model(R"(g (float[2, 6, 8] x) => (float[2, 6, 8] y)
    <int64[4] heads = {2, 6, 4, 2}, int64[3] joined = {2, 6, 8}> {
      a = Reshape (x, heads)
      b = Transpose <perm = [0, 2, 1, 3]> (a)
      c = Softmax (b)
      d = Transpose <perm = [0, 2, 1, 3]> (c)
      y = Reshape (d, joined)
    })"));
  auto counts = count_kinds(graph);
  EXPECT_EQ(counts["transpose"], 1);
  const Op& copy = find(graph, "reshape/copy");
  // 2 x 4 x 6 rows of 2, in the order of positions.
  EXPECT_THAT(copy.shape, ElementsAre(2, 4, 6, 2, 0, 2, 1, 3));
  EXPECT_EQ(copy.bytes_read, 4 * 96);
  EXPECT_EQ(copy.bytes_written, 4 * 96);
}

TEST(OnnxViews, FunctionsKeepTheOrderInMemory) {
  const OpGraph graph = import(model(R"(g (float[2, 6, 8] x) => (float[2, 48] y)
    <int64[2] rows = {2, 48}> {
      a = Transpose <perm = [0, 2, 1]> (x)
      b = Relu (a)
      c = Transpose <perm = [0, 2, 1]> (b)
      y = Reshape (c, rows)
    })"));
  EXPECT_EQ(count_kinds(graph)["transpose"] + count_kinds(graph)["copy"], 0);
}

// Heads [2, 4, 6, 2] of positions [2, 6, 8] are no batch of 8 matrices in memory.
TEST(OnnxViews, ProductsTakeABatchOfMatrices) {
  const OpGraph graph = import(model(R"(g (float[2, 6, 8] x) => (float[2, 4, 6, 6] y)
    <int64[4] heads = {2, 6, 4, 2}> {
      a = Reshape (x, heads)
      q = Transpose <perm = [0, 2, 1, 3]> (a)
      k = Softmax (q)
      t = Transpose <perm = [0, 1, 3, 2]> (k)
      y = MatMul (q, t)
    })"));
  EXPECT_EQ(count_kinds(graph)["transpose"], 1);
  EXPECT_THAT(find(graph, "mat_mul/copy").shape, ElementsAre(2, 6, 4, 2, 0, 2, 1, 3));
  EXPECT_THAT(find(graph, "mat_mul").shape, ElementsAre(8, 6, 6, 2));
}

// MultiheadAttention copies queries, keys and values at once.
TEST(OnnxViews, ThePartsOfAProjectionAreContiguous) {
  const OpGraph graph = import(model(R"(g (float[6, 2, 24] x) => (float[N] y)
    <int64[4] parts = {6, 2, 3, 8}, int64[3] heads = {6, 8, 2}, int64[1] front = {0},
     int64[1] last = {-2}, int64 query = {0}, int64 key = {1}> {
      a = Reshape (x, parts)
      b = Unsqueeze (a, front)
      c = Transpose <perm = [3, 1, 2, 0, 4]> (b)
      d = Squeeze (c, last)
      q = Gather (d, query)
      k = Gather (d, key)
      q1 = Reshape (q, heads)
      k1 = Reshape (k, heads)
      y = Mul (q1, k1)
    })"));
  EXPECT_EQ(count_kinds(graph)["transpose"], 1);
  EXPECT_EQ(count_kinds(graph)["copy"], 0);
  EXPECT_EQ(find(graph, "squeeze/copy").bytes_written, 4 * 288);
}

TEST(OnnxViews, DirectionsStandSideBySide) {
  const OpGraph graph = import(model(R"(g (float[5, 2, 8] x) => (float[5, 2, 8] y)
    <int64[3] joined = {5, 2, 8}> {
      a = LSTM <hidden_size = 4, direction = "bidirectional"> (x, w, r)
      b = Transpose <perm = [0, 2, 1, 3]> (a)
      y = Reshape (b, joined)
    })",
                                     {{"w", {2, 16, 8}}, {"r", {2, 16, 4}}}));
  EXPECT_EQ(count_kinds(graph)["transpose"] + count_kinds(graph)["copy"], 0);
}

TEST(OnnxViews, PartsAndRepeatsAreCopiedWhereTheyGetAnotherShape) {
  const OpGraph graph = import(model(R"(g (float[4, 6] x) => (float[N] y)
    <int64[1] zero = {0}, int64[1] two = {2}, int64[1] one = {1}, int64[2] by_two = {4, 2, 3},
     int64[3] thrice = {3, 4, 6}, int64[1] flat = {-1}, int64 second = {1}> {
      rows = Slice (x, zero, two, zero)
      r = Reshape (rows, flat)
      columns = Slice (x, zero, two, one)
      c = Reshape (columns, flat)
      every = Slice (x, zero, two, one, two)
      l, m = Split <axis = 1> (x)
      l1 = Reshape (l, flat)
      row = Gather <axis = 0> (x, second)
      e = Expand (x, thrice)
      e1 = Reshape (e, flat)
      back = Slice (x, minus, first, one, minus)
      y = Concat <axis = 0> (r, c, l1, e1, row)
    })",
                                     {{"minus", {1}, onnx::TensorProto::INT64, {-1}},
                                      {"first", {1}, onnx::TensorProto::INT64, {-99}}}));
  auto counts = count_kinds(graph);
  EXPECT_EQ(counts["slice_view"], 4);
  EXPECT_EQ(counts["split_view"], 1);
  EXPECT_EQ(counts["expand_view"], 1);
  EXPECT_EQ(counts["slice"], 1);  // backward
  EXPECT_EQ(counts["copy"], 3);   // of columns, the half, and the repeats
}

TEST(OnnxViews, WhatChangesNothingIsNoOp) {
  const OpGraph graph = import(model(R"(g (float[4, 6] x) => (float[4, 6] y)
    <int64[4] none = {0, 0, 0, 0}, int64[1] zero = {0}, int64[1] all = {9}, float never = {0},
     bool yes = {1}> {
      a = Pad (x, none)
      b = Slice (a, zero, all, zero)
      c = Dropout (b, never, yes)
      y = Relu (c)
    })"));
  EXPECT_EQ(num_ops(graph), 2);
}

}  // namespace
}  // namespace emplace::onnx_views_test

#endif
