// How BPE vocabularies of GGUF files cut the text: by patterns that the files name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1::text {

struct PreType {
  std::string_view names;  // each between spaces; the first is the one we write
  std::vector<std::string> patterns;
  bool ignore_merges = false;
  bool add_bos = false;     // where the file does not say
  bool characters = false;  // pieces are of characters, not of bytes
  bool blanks = false;      // with U+2581 for a blank, and bytes to fall back to
};
const std::vector<PreType>& pre_types();
const PreType& pre_type(std::string_view name);  // ValueError for one that is not known; empty: "default"

}  // namespace dyadic::inline v1::text
