#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <gmock/gmock.h>
#include <graphs/zip_archive.hpp>
#include <gtest/gtest.h>

#include <string>

namespace emplace::unsupported_models_test {
namespace {

using test::archive;
using testing::AllOf;
using testing::HasSubstr;

// Why a file has no format, or the name of its format.
std::string guess(const std::string& name, const std::string& bytes) {
  try {
    return GraphFormats::global().guess(bytes, name).name;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(UnsupportedModels, AreToldByTheirContent) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const struct {
    std::string bytes;
    std::string what;
  } cases[] = {
      {"\x89HDF\r\n\x1a\n", "a Keras file (HDF5)"},
      {archive({{"config.json", "{}"}, {"model.weights.h5", "x"}}, false), "a Keras file (zip"},
      {std::string("\x1c\0\0\0TFL3\0\0\0", 11), "TensorFlow Lite"},
      {std::string("\x1c\0\0\0ORTM\0\0\0", 11), "ONNX Runtime's own"},
      {archive({{"m/data.pkl", "x"}, {"m/constants.pkl", "x"}}, true), "TorchScript"},
      {archive({{"m/data.pkl", "x"}, {"m/data/0", "x"}}, true), "a pickle of PyTorch"},
      {"\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", "a pickle of PyTorch"},
      {test::le(header.size(), 8) + header + "1234", "safetensors"},
      {"GGUF\x03", "GGUF"},
      {"// HLO of a model\nHloModule jit_f, entry_computation_layout={()->f32[]}\n", "HLO"},
      {"module @jit_f attributes {} {\n  func.func public @main() {\n", "StableHLO"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"},
      {"\n<!DOCTYPE html>\n<html>", "a web page"},
      {"<?xml version=\"1.0\"?>\n<net name=\"Model0\" version=\"11\">", "OpenVINO"},
  };
  for (const auto& [bytes, what] : cases) {
    EXPECT_THAT(guess("model.bin", bytes), AllOf(HasSubstr("model.bin: "), HasSubstr(what)));
  }
}

// Texts in the format of .pbtxt that hold no graph.
TEST(UnsupportedModels, AreToldByTheirFields) {
  const struct {
    std::string text;
    std::string what;
  } cases[] = {
      {"# classes\nitem {\n  id: 1\n  name: 'cat'\n}\n", "a label map"},
      {"item{ id: 1 }", "a label map"},
      {"op {\n name: \"Abs\"\n input_arg { name: \"x\" }\n}", "definitions of operators"},
      {"model { ssd { num_classes: 9 } }\ntrain_config: { batch_size: 24 }",
       "the configuration of a training"},
      {"net: \"a.prototxt\"\nbase_lr: 0.01\n", "solvers of Caffe"},
      {"name: \"LeNet\"\nlayer {\n name: \"data\"\n}", "models and solvers of Caffe"},
      {"name: \"densenet\"\nplatform: \"onnxruntime_onnx\"\n", "the configuration of a server"},
      {"model_checkpoint_path: \"model.ckpt-5\"", "the list of checkpoints"},
      {"path: \"tensorflow.Graph\"\ntf_class {\n}", "Python's interface"},
      {"ir_version: 8\ngraph { node { op_type: \"Relu\" } }", "format='textproto'"},
      {"step_stats { dev_stats { device: \"gpu\" } }", "step-stats=FILE"},
      {"feature { name: \"age\" type: INT }", "the schema or the statistics of data"},
  };
  for (const auto& [text, what] : cases) {
    EXPECT_THAT(guess("model.pbtxt", text), AllOf(HasSubstr("model.pbtxt: "), HasSubstr(what)));
  }
  EXPECT_EQ(guess("model.pbtxt", "node { name: 'op' op: 'item' }\nlibrary { }"), "tensorflow");
  EXPECT_EQ(guess("model.pbtxt", "strange { item { } }"), "tensorflow");
  EXPECT_EQ(guess("model.pbtxt", "import item\nitem { }"), "tensorflow");
}

TEST(UnsupportedModels, AreToldByTheirNames) {
  EXPECT_THAT(guess("m.h5", "no HDF5"), HasSubstr("model.export(folder) in Keras 3"));
  EXPECT_THAT(guess("m.KERAS", "text"), HasSubstr("model.export(folder) in Keras 3"));
  EXPECT_THAT(guess("m.mlmodel", "x"), HasSubstr("Core ML"));
  EXPECT_THAT(guess("m.pth", "x"), HasSubstr("emplace.from_torch(model, example_inputs)"));
  EXPECT_THAT(guess("m.other", "x"), HasSubstr("not clear from its name or its content"));
}

// What is read stays what it is, whatever it is called.
TEST(UnsupportedModels, LeaveWhatIsRead) {
  EXPECT_EQ(guess("m.h5", R"({"graph_module":{},"schema_version":{}})"), "torch-export");
  EXPECT_EQ(guess("m.pt", archive({{"m/models/m.json", "{}"}, {"m/data.pkl", "x"}}, true)),
            "torch-export");
  EXPECT_EQ(guess("m.onnx", "\x08\x08"), "onnx");
}

}  // namespace
}  // namespace emplace::unsupported_models_test
