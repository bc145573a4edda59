#pragma once

// Messages of protocol buffers in the text format (.pbtxt, .prototxt), whatever their type. The
// names of their fields show what kind of file it is, before anything parses it.

#include <string_view>
#include <vector>

namespace emplace {

/// Returns the names of the outermost fields of a message in the text format, each once, in their
/// order; nothing if `bytes` are no text that begins with a field. Only the first fields of a long
/// text are looked at. They point into `bytes`.
std::vector<std::string_view> text_message_fields(std::string_view bytes);

}  // namespace emplace
