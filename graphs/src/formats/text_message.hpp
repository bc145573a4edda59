#pragma once

// Messages of protocol buffers in the text format (.pbtxt, .prototxt), whatever their type: which
// fields they have tells what a file is before anything reads it.

#include <string_view>
#include <vector>

namespace emplace {

/// Returns the names of the outermost fields of a message in the text format, each once, in their
/// order; nothing if `bytes` are no text that begins with a field. Only the first fields of a long
/// text are looked at. They point into `bytes`.
std::vector<std::string_view> text_message_fields(std::string_view bytes);

}  // namespace emplace
