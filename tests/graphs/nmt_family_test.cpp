#include <emplace/base/error.hpp>
#include <emplace/graphs/catalog.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace emplace::nmt_family_test {
namespace {

using testing::SizeIs;

// What tells two members apart: the steps for which they are unrolled, and the batch.
using Size = std::pair<std::int64_t, std::int64_t>;

Size size_of_member(const std::string& given) {
  const OpGraph graph = load_graph("nmt-family:" + given);
  Size size{0, 0};
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    if (graph[op].kind == "softmax_cross_entropy") {
      ++size.first;
      size.second = graph[op].shape[0];
    }
  }
  return size;
}

std::set<Size> sizes(const std::string& given) {
  std::set<Size> result;
  for (int i = 0; i < 32; ++i) {
    result.insert(size_of_member(given + ",member=" + std::to_string(i)));
  }
  return result;
}

TEST(NmtFamily, MembersDifferInStepsAndBatchAndNoneIsOnBothSides) {
  const auto train = sizes("split=train");
  const auto test = sizes("split=test");
  EXPECT_THAT(train, SizeIs(32));
  EXPECT_THAT(test, SizeIs(32));
  for (const Size& size : test) {
    EXPECT_FALSE(train.contains(size)) << size.first << " steps, batch " << size.second;
  }
}

TEST(NmtFamily, StepsAndBatchAreWithinTheirBounds) {
  for (const auto& [steps, batch] : sizes("hidden=8,vocabulary=11,steps=40,batch=128")) {
    EXPECT_TRUE(10 <= steps && steps <= 40) << steps;
    EXPECT_TRUE(32 <= batch && batch <= 128 && batch % 8 == 0) << batch;
  }
  EXPECT_EQ(size_of_member("hidden=8,vocabulary=11,steps=1,batch=1"), Size(1, 1));
  EXPECT_THROW(load_graph("nmt-family:steps=1,batch=1,member=1"), Error);  // there is only one
}

TEST(NmtFamily, AMemberIsTheNetworkOfItsSize) {
  const auto [steps, batch] = size_of_member("member=2");
  const auto member = totals(load_graph("nmt-family:member=2"));
  const auto network =
      totals(load_graph("nmt:steps=" + std::to_string(steps) + ",batch=" + std::to_string(batch)));
  EXPECT_EQ(member.flops, network.flops);
  EXPECT_EQ(member.persistent_bytes, network.persistent_bytes);
}

}  // namespace
}  // namespace emplace::nmt_family_test
