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
      {"<?xml version=\"1.0\"?>\n<net name=\"Model0\" version=\"11\">", "OpenVINO"},
  };
  for (const auto& [bytes, what] : cases) {
    EXPECT_THAT(guess("model.bin", bytes), AllOf(HasSubstr("model.bin: "), HasSubstr(what)));
  }
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
