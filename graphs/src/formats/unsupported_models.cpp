#include "unsupported_models.hpp"

#include "formats/text_message.hpp"
#include "formats/torch/archive.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace emplace {
namespace {

constexpr std::string_view kFromTorch =
    "in Python, emplace.from_torch(model, example_inputs) reads the model, and "
    "torch.export.save(torch.export.export(model, example_inputs), 'model.pt2') or "
    "torch.onnx.export() write files that are read";
constexpr std::string_view kFromKeras =
    "save the graph: model.export(folder) in Keras 3, tf.saved_model.save(model, folder) in "
    "earlier versions, and read the folder";
constexpr std::string_view kFromTensorFlow =
    "read the SavedModel that it was made of, or the model in ONNX";
constexpr std::string_view kFromText =
    "of such texts (.pbtxt) a graph of TensorFlow is read: a GraphDef, a list of node { name: ... "
    "op: ... }, a MetaGraphDef or a SavedModel";
constexpr std::string_view kFromSource =
    "export the model that it was made of: to ONNX, by torch.export, or as a SavedModel";

// What a file is, by what it begins with, and what to do.
struct Model {
  std::string_view what;
  std::string_view advice;
  bool (*is_it)(std::string_view bytes);
  std::array<std::string_view, 3> endings{};
};

bool never(std::string_view) { return false; }

bool starts_with_hdf5(std::string_view bytes) { return bytes.starts_with("\x89HDF\r\n"); }

// FlatBuffers have their identifier behind the first offset.
bool has_identifier(std::string_view bytes, std::string_view identifier) {
  return bytes.size() >= 8 && bytes.substr(4, 4) == identifier;
}

// A header in JSON, behind its length in 8 bytes.
bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{' || (bytes[9] != '"' && bytes[9] != '}')) {
    return false;
  }
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) {
    length = length << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return length >= 2 && length <= bytes.size() - 8;
}

// The first line of a text, behind comments.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) {
      return "";
    }
    text.remove_prefix(begin);
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.starts_with("//") && !line.starts_with('#')) {
      return line;
    }
    text.remove_prefix(line.size());
  }
  return "";
}

// Protocols 2 to 5, and an opcode that pickles begin with.
bool is_pickle(std::string_view bytes) {
  constexpr std::string_view kOpcodes =
      "\x8a\x95"
      "c}](K";
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 &&
         kOpcodes.find(bytes[2]) != std::string_view::npos;
}

bool is_mlir(std::string_view bytes) {
  const std::string_view line = first_line(bytes);
  return bytes.starts_with("ML\xefR") || line.starts_with("module @") ||
         line.starts_with("module {") || line.starts_with("module attributes") ||
         line.starts_with("func.func ");
}

bool is_hlo(std::string_view bytes) { return first_line(bytes).starts_with("HloModule "); }

// Says whether a message in the text format has one of these fields, and no nodes of a graph.
bool has_field(std::string_view bytes, std::initializer_list<std::string_view> names) {
  const std::vector<std::string_view> fields = text_message_fields(bytes);
  const auto has = [&](std::string_view name) {
    return std::ranges::find(fields, name) != fields.end();
  };
  return !has("node") && std::ranges::any_of(names, has);
}

bool is_caffe(std::string_view bytes) {
  return has_field(bytes,
                   {"layer", "layers", "base_lr", "solver_mode", "train_net", "external_input"});
}

bool has_entry(std::string_view bytes, std::string_view ending) {
  return torch_program::is_archive(bytes) &&
         std::ranges::any_of(torch_program::entry_names(bytes), [&](const std::string& name) {
           return name == ending || name.ends_with(fmt::format("/{}", ending));
         });
}

constexpr std::array kModels = {
    Model{"a Keras file (HDF5) contains layers and weights, but no graph",
          kFromKeras,
          starts_with_hdf5,
          {".h5", ".hdf5"}},
    Model{"a Keras file (zip archive) contains layers and weights, but no graph",
          kFromKeras,
          [](std::string_view bytes) { return has_entry(bytes, "model.weights.h5"); },
          {".keras"}},
    Model{"TensorFlow Lite files are not read",
          kFromTensorFlow,
          [](std::string_view bytes) { return has_identifier(bytes, "TFL3"); },
          {".tflite"}},
    Model{"a TorchScript file contains code for one interpreter", kFromTorch,
          [](std::string_view bytes) { return has_entry(bytes, "constants.pkl"); }},
    Model{"a pickle of PyTorch contains weights or Python objects, but no graph",
          kFromTorch,
          [](std::string_view bytes) { return has_entry(bytes, "data.pkl") || is_pickle(bytes); },
          {".pt", ".pth", ".ckpt"}},
    Model{
        "safetensors contain weights, but no graph", kFromTorch, is_safetensors, {".safetensors"}},
    Model{"GGUF contains weights, but no graph",
          kFromTorch,
          [](std::string_view bytes) { return bytes.starts_with("GGUF"); },
          {".gguf"}},
    Model{"MLIR (StableHLO and other dialects) is not read",
          kFromSource,
          is_mlir,
          {".mlir", ".stablehlo", ".mlirbc"}},
    Model{"HLO of XLA is not read", kFromSource, is_hlo, {".hlo"}},
    Model{"models of Core ML are not read", kFromSource, never, {".mlmodel", ".mlpackage"}},
    Model{"models in ONNX Runtime's own format are not read",
          "read the ONNX model that it was "
          "made of",
          [](std::string_view bytes) { return has_identifier(bytes, "ORTM"); },
          {".ort"}},
    Model{"an engine of TensorRT is a program for one GPU",
          kFromSource,
          never,
          {".engine", ".plan", ".trt"}},
    Model{"models of OpenVINO are not read", kFromSource,
          [](std::string_view bytes) {
            const std::string_view head = bytes.substr(0, 400);
            return head.starts_with("<?xml") && head.find("<net name=") != std::string_view::npos;
          }},
    Model{"models and solvers of Caffe are not read",
          kFromSource,
          is_caffe,
          {".caffemodel", ".prototxt"}},
    Model{"models of PaddlePaddle are not read",
          "convert the model by paddle2onnx",
          never,
          {".pdmodel", ".pdiparams"}},
    Model{"reports of Nsight Systems are read in SQLite",
          "export the report: nsys export --type sqlite",
          never,
          {".nsys-rep", ".qdrep"}},
    // What is no model, but is called like one.
    Model{"this is a pointer of Git LFS, not the file that it stands for",
          "fetch that: git lfs pull",
          [](std::string_view bytes) {
            return bytes.starts_with("version https://git-lfs.github.com/spec/");
          }},
    Model{"this is a web page", "download the model itself",
          [](std::string_view bytes) {
            const std::string start = to_lower(first_line(bytes).substr(0, 14));
            return start.starts_with("<!doctype html") || start.starts_with("<html");
          }},
    Model{"an ONNX model in the text format is not read",
          "write it in binary: onnx.save(onnx.load(file, format='textproto'), 'model.onnx')",
          [](std::string_view bytes) {
            return has_field(bytes, {"ir_version", "opset_import"});
          }},
    Model{"this is the RunMetadata of a run, not a graph", "read the graph with step-stats=FILE",
          [](std::string_view bytes) {
            return has_field(bytes, {"step_stats", "cost_graph"});
          }},
    Model{"a label map names the classes of a model, but is no graph", kFromText,
          [](std::string_view bytes) { return has_field(bytes, {"item"}); }},
    Model{"definitions of operators are no graph", kFromText,
          [](std::string_view bytes) {
            return has_field(bytes, {"op", "graph_op_name"});
          }},
    Model{"the configuration of a training is no graph", kFromText,
          [](std::string_view bytes) {
            return has_field(
                bytes, {"train_config", "train_input_reader", "eval_config", "eval_input_reader"});
          }},
    Model{"the configuration of a server is no graph", kFromText,
          [](std::string_view bytes) {
            return has_field(bytes, {"model_config_list", "max_batch_size", "instance_group",
                                     "platform", "ensemble_scheduling"});
          }},
    Model{"the list of checkpoints is no graph", kFromText,
          [](std::string_view bytes) { return has_field(bytes, {"model_checkpoint_path"}); }},
    Model{"a description of Python's interface is no graph", kFromText,
          [](std::string_view bytes) {
            return has_field(bytes, {"tf_module", "tf_class", "tf_proto"});
          }},
    Model{"the schema or the statistics of data are no graph", kFromText,
          [](std::string_view bytes) {
            return has_field(bytes, {"feature", "datasets"});
          }},
};

[[noreturn]] void refuse(const Model& model, std::string_view source) {
  throw Error(ErrorCode::kUnsupported, fmt::format("{}: {}; {}", source, model.what, model.advice));
}

}  // namespace

void refuse_unsupported_model(std::string_view bytes, std::string_view source) {
  const auto found =
      std::ranges::find_if(kModels, [&](const Model& model) { return model.is_it(bytes); });
  if (found != kModels.end()) {
    refuse(*found, source);
  }
}

void refuse_unsupported_ending(std::string_view source) {
  std::string lower(source);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  for (const Model& model : kModels) {
    if (std::ranges::any_of(model.endings, [&](std::string_view ending) {
          return !ending.empty() && lower.ends_with(ending);
        })) {
      refuse(model, source);
    }
  }
}

}  // namespace emplace
