// The vocabulary of a GGUF file: what it says of the stages of a tokenizer, for the one that is made of it and for Hugging
// Face's files.
#pragma once
#include <map>

#include "dyadic/tokenizer.h"
#include "text/pre_types.h"
#include "text/stages.h"

namespace dyadic::inline v1::io {
class GgufFile;
}
namespace dyadic::inline v1::text {

constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;  // types of tokens
constexpr std::string_view kBlank = "\xe2\x96\x81";

StoredVocabulary vocabulary_of(const io::GgufFile& file);

// Checks it, and fills in what files leave out and other programs know. BERT's tokens get the names that BERT has for them.
// ValueError for what no tokenizer can be made of.
void complete(StoredVocabulary& v);

// Of one that is complete:
bool is_added(const StoredVocabulary& v, size_t id);            // a token that is found in the text before it is cut
const PreType* bytes_or_characters(const StoredVocabulary& v);  // of BPE with merges; null for the other kinds
Json bpe_normalizer(const StoredVocabulary& v, const PreType& type);
Json byte_or_character_pieces(const PreType& type);  // its pre-tokenizer
Json bpe_decoder(const PreType& type);
Json blank_decoder(bool prefix);  // U+2581 to blanks, <0x0A> to bytes; without the one before a text
Json bert_normalizer(const StoredVocabulary& v);
UnigramParts unigram_parts(const StoredVocabulary& v);
std::vector<std::pair<std::string, std::string>> stored_merges(const StoredVocabulary& v);
std::map<std::string, std::string> special_texts(const StoredVocabulary& v);  // "bos_token" and so on
Frame frame_of(const StoredVocabulary& v);
constexpr uint32_t kLongestWord = 1000;  // of WPM, in characters

// tokenizer.json and tokenizer_config.json that make the same ids of every text. ValueError naming what they have no form for.
struct TokenizerFiles {
  std::string tokenizer, config;
};
TokenizerFiles files_of(StoredVocabulary v);

// Merges in such an order that BPE by them is SentencePiece's by scores.
struct SpmMerges {
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<std::string> doubtful;  // texts that equal scores may cut otherwise
};
SpmMerges spm_merges(const StoredVocabulary& v);

}  // namespace dyadic::inline v1::text
