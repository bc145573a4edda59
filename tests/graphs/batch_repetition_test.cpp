// A file has one batch; parts of a larger one are as large as that each.

#include "support/errors.hpp"
#include "support/source_path.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace emplace::batch_repetition_test {
namespace {

using testing::HasSubstr;

// A file in a folder of its own, which is removed.
class Written {
 public:
  explicit Written(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "emplace-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    write_text_file(path(), text);
  }
  ~Written() { std::filesystem::remove_all(folder_); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  std::string path() const { return (folder_ / "step.json").string(); }

 private:
  std::filesystem::path folder_;
};

std::string ops_of(const OpGraph& graph) {
  const std::string text = write_graph_json(graph);
  return text.substr(text.find("\"ops\""));
}

TEST(BatchRepetition, OfAFileIsTheBuiltInNetworkWithALargerBatch) {
  const std::string options = "batch=6,sequence=16";
  const Written file(write_graph_json(load_graph("bert-base:" + options)));
  EXPECT_EQ(ops_of(load_graph(file.path())), ops_of(load_graph("bert-base:" + options)));
  EXPECT_EQ(ops_of(load_graph(file.path() + ":micro-batches=2")),
            ops_of(load_graph("bert-base:batch=12,sequence=16,micro-batches=2")));
  EXPECT_EQ(ops_of(load_graph(file.path() + ":replicas=2,micro-batches=2,schedule=gpipe")),
            ops_of(load_graph(
                "bert-base:batch=24,sequence=16,replicas=2,micro-batches=2,schedule=gpipe")));
  EXPECT_EQ(ops_of(load_graph(file.path() + ":recompute=layer_*")),
            ops_of(load_graph("bert-base:" + options + ",recompute=layer_*")));
}

TEST(BatchRepetition, OfWhatHasPartsAlreadyIsRefused) {
  const Written file(write_graph_json(load_graph("bert-base:batch=2,sequence=16,micro-batches=2")));
  EXPECT_THAT(test::error_of([&] { load_graph(file.path() + ":micro-batches=2"); }),
              HasSubstr("step.json: the step has replicas or micro-batches already"));
}

// A model of PyTorch, trained: the gradients of three batches are added up.
TEST(BatchRepetition, OfAModelOfPyTorchAddsUpGradients) {
  const std::string path = test::source_path("tests/graphs/data/torch_attention.json");
  const OpGraph one = load_graph(path + ":training=true");
  const OpGraph three = load_graph(path + ":training=true,micro-batches=3");
  EXPECT_GT(num_ops(three), 2 * num_ops(one));
  EXPECT_LT(num_ops(three), 3 * num_ops(one));  // variables and updates are there once
}

}  // namespace
}  // namespace emplace::batch_repetition_test
