// What every tokenizer.json has, for those who write one. J is nlohmann::json or, where keys stay in this order, ordered_json.
#pragma once
#include "base/json.h"

namespace dyadic::inline v1::text {

// With stages that do nothing, and no model.
template <class J> J tokenizer_document() {
  J j = J::object();
  j["version"] = "1.0";
  for (const char* key : {"truncation", "padding"}) j[key] = nullptr;
  j["added_tokens"] = J::array();
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder", "model"}) j[key] = nullptr;
  return j;
}

template <class J> J bpe_document(J vocabulary, J merges) {
  J j = {{"type", "BPE"}};
  for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) j[key] = nullptr;
  for (const char* key : {"fuse_unk", "byte_fallback"}) j[key] = false;
  j["vocab"] = std::move(vocabulary);
  j["merges"] = std::move(merges);
  return j;
}

}  // namespace dyadic::inline v1::text
