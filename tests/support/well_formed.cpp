#include "support/well_formed.hpp"

#include <expat.h>

#include <memory>

namespace emplace::test {

bool is_well_formed(std::string_view text) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(
      XML_ParserCreate("UTF-8"), XML_ParserFree);
  return XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), 1) == XML_STATUS_OK;
}

}  // namespace emplace::test
