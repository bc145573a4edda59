#pragma once

// Files of pictures. All pictures are drawn as SVG; PNG and PDF are made of it by rsvg-convert
// (librsvg), a program that is looked for only when one is wanted.

#include <array>
#include <string>
#include <string_view>

namespace emplace::cli {

/// The endings of files of pictures.
inline constexpr std::array<std::string_view, 3> kPictureEndings = {".svg", ".png", ".pdf"};

/// Returns whether the ending of `path` is one of pictures.
bool names_picture(std::string_view path);

/// Returns an SVG picture as what the ending of `path` says: as it is, as PNG twice as sharp as its
/// size in pixels, or as PDF. Requires: names_picture(path). Throws kUnsupported where rsvg-convert
/// is missing or cannot draw it.
std::string encode_picture(std::string svg, std::string_view path);

}  // namespace emplace::cli
