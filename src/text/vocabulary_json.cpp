// A GGUF file's vocabulary as tokenizer.json and tokenizer_config.json.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/json.h"
#include "text/gguf_vocabulary.h"
#include "text/tokenizer_document.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

using Ordered = nlohmann::ordered_json;  // as Hugging Face's files are: by stages, tokens by their ids

Json replace(const char* kind, std::string_view pattern, std::string_view content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}
std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < bytes.size() ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

// A token's text is its name there.
void check_names(const StoredVocabulary& v) {
  std::unordered_map<std::string_view, size_t> seen;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    DY_CHECK_AS(ValueError, valid_utf8(v.tokens[i]) == v.tokens[i], "vocabulary: token {} is no UTF-8", i);
    const auto [at, made] = seen.emplace(v.tokens[i], i);
    DY_CHECK_AS(ValueError, made, "vocabulary: tokens {} and {} are both \"{}\"", at->second, i, v.tokens[i]);
  }
}
Ordered added_tokens(const StoredVocabulary& v) {
  Ordered all = Ordered::array();
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (is_added(v, i))
      all.push_back({{"id", i},
                     {"content", v.tokens[i]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", v.types[i] != kUserDefined}});
  return all;
}
// The object's own emplace looks through all that it has.
Ordered vocabulary(const StoredVocabulary& v) {
  Ordered::object_t all;
  std::vector<Ordered::object_t::value_type>& list = all;
  list.reserve(v.tokens.size());
  for (size_t i = 0; i < v.tokens.size(); ++i) list.emplace_back(v.tokens[i], i);
  return Ordered(std::move(all));
}
Ordered merges_json(const std::vector<std::pair<std::string, std::string>>& merges) {
  Ordered all = Ordered::array();
  for (const auto& [left, right] : merges) all.push_back({left, right});
  return all;
}
Ordered bpe(const StoredVocabulary& v, const std::vector<std::pair<std::string, std::string>>& merges) {
  Ordered j = bpe_document<Ordered>(vocabulary(v), merges_json(merges));
  j["ignore_merges"] = false;
  return j;
}

Ordered frame_json(const StoredVocabulary& v) {
  const Frame f = frame_of(v);
  if (f.before.empty() && f.after.empty()) return nullptr;
  Ordered tokens = Ordered::object();
  const auto specials = [&](Ordered& to, const Ids& ids, int text) {
    for (int64_t id : ids) {
      const std::string& name = v.tokens[size_t(id)];
      to.push_back({{"SpecialToken", {{"id", name}, {"type_id", text}}}});
      tokens[name] = {{"id", name}, {"ids", Ordered::array({id})}, {"tokens", Ordered::array({name})}};
    }
  };
  const auto written = [&](const std::vector<FramePart>& parts) {
    Ordered to = Ordered::array();
    for (const FramePart& p : parts)
      if (p.text < 0)
        specials(to, p.ids, int(p.type));
      else
        to.push_back({{"Sequence", {{"id", p.text ? "B" : "A"}, {"type_id", p.type}}}});
    return to;
  };
  const Ordered single = written(f.single), pair = written(f.pair);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

// Blanks become the blank sign, and one more stands before each stretch of text.
void put_blanks(Ordered& j, const StoredVocabulary& v, bool collapse) {
  const bool prefix = v.add_space_prefix.value_or(true);
  Json steps = Json::array();
  if (!v.precompiled_charsmap.empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(v.precompiled_charsmap)}});
  if (collapse) steps.push_back(replace("Regex", "\\A +", ""));
  if (prefix) steps.push_back({{"type", "Prepend"}, {"prepend", kBlank}});
  steps.push_back(collapse ? replace("Regex", " +", kBlank) : replace("String", " ", kBlank));
  if (collapse) steps.push_back(replace("Regex", std::string(kBlank) + "+\\z", ""));
  j["normalizer"] = steps.size() == 1 ? steps[0] : Json{{"type", "Sequence"}, {"normalizers", steps}};
  j["decoder"] = blank_decoder(prefix);
}

std::vector<std::string> put_spm(Ordered& j, const StoredVocabulary& v) {
  put_blanks(j, v, false);
  SpmMerges made = spm_merges(v);
  j["model"] = bpe(v, made.merges);
  size_t bytes = 0, named = 0;
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (const int b = parse_byte_token(v.tokens[i]); b >= 0 && (v.types.empty() || v.types[i] == kByte))
      ++bytes, named += v.tokens[i] == fmt::format("<0x{:02X}>", b);
  DY_CHECK_AS(ValueError, bytes == named && (bytes == 0 || bytes == 256), "vocabulary: {} of 256 bytes have a token", named);
  j["model"]["byte_fallback"] = bytes > 0;
  if (v.unknown >= 0) j["model"]["unk_token"] = v.tokens[size_t(v.unknown)];
  return made.doubtful;
}

// All pieces can be found in a text there. Those that no text becomes get scores below any way to cut their own text, so that
// they are only found where one of their characters is in no piece. That makes unknown characters dearer, which changes
// nothing where each character is in a piece of its own or in none; else the scores stay.
Ordered pieces(const StoredVocabulary& v) {
  const UnigramParts p = unigram_parts(v);
  double least = 0;
  std::unordered_map<std::string_view, size_t> usable;
  for (size_t i = 0; i < p.pieces.size(); ++i) {
    const auto& [piece, score] = p.pieces[i];
    DY_CHECK_AS(ValueError, std::isfinite(score), "vocabulary: the score of token \"{}\" is {}", piece, score);
    least = std::min(least, score);
    if (!p.unusable[i]) usable.emplace(piece, i);
  }
  const bool alone = std::ranges::all_of(usable, [&](const auto& item) {
    const std::string_view s = item.first;
    for (size_t i = 0, n; i < s.size(); i += n)
      if (n = decode_utf8(s, i).size; !usable.contains(s.substr(i, n))) return false;
    return true;
  });
  Ordered all = Ordered::array();
  for (size_t i = 0; i < p.pieces.size(); ++i) {
    const auto& [piece, score] = p.pieces[i];
    all.push_back({piece, p.unusable[i] && alone ? least * double(utf8_length(piece)) - 1 : score});
  }
  return all;
}
void put_ugm(Ordered& j, const StoredVocabulary& v) {
  put_blanks(j, v, v.remove_extra_whitespaces);
  const UnigramParts p = unigram_parts(v);
  j["model"] = {{"type", "Unigram"}, {"unk_id", *p.unknown}, {"vocab", pieces(v)}, {"byte_fallback", p.byte_fallback}};
}

void put_wpm(Ordered& j, const StoredVocabulary& v) {
  j["normalizer"] = bert_normalizer(v);
  j["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  j["model"] = {{"type", "WordPiece"},
                {"unk_token", v.unknown >= 0 ? v.tokens[size_t(v.unknown)] : "[UNK]"},
                {"continuing_subword_prefix", "##"},
                {"max_input_chars_per_word", kLongestWord},
                {"vocab", vocabulary(v)}};
  j["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
}

void put_bpe(Ordered& j, const StoredVocabulary& v, const PreType& type) {
  j["pre_tokenizer"] = byte_or_character_pieces(type);
  j["model"] = bpe(v, stored_merges(v));
  j["model"]["ignore_merges"] = type.ignore_merges;
  j["model"]["byte_fallback"] = type.blanks;
  j["normalizer"] = bpe_normalizer(v, type);
  j["decoder"] = bpe_decoder(type);
}

// A class that says nothing of its own: transformers' own ones make the stages anew.
std::string config_json(const StoredVocabulary& v) {
  Ordered j = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  for (const auto& [name, token] : special_texts(v)) j[name] = token;
  if (v.model == "bert" && v.bos >= 0) j["cls_token"] = v.tokens[size_t(v.bos)];
  if (!v.chat_template.empty()) j["chat_template"] = valid_utf8(v.chat_template);
  return dump_json(j, 2) + "\n";
}

// Both tokenizers on each token's own text and on what was doubtful.
void compare(const Tokenizer& stored, const Tokenizer& written, const StoredVocabulary& v, std::vector<std::string> texts) {
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (v.types.empty() || v.types[i] == kNormal || is_added(v, i)) texts.push_back(stored.decode({int64_t(i)}));
  const auto a = stored.encode_batch(texts, false), b = written.encode_batch(texts, false);
  for (size_t i = 0; i < texts.size(); ++i)
    DY_CHECK_AS(ValueError, a[i] == b[i] && stored.decode(a[i]) == written.decode(a[i]),
                "vocabulary: \"{}\" would become other tokens", valid_utf8(texts[i]));
}

}  // namespace

TokenizerFiles files_of(StoredVocabulary v) {
  const Tokenizer stored = Tokenizer::from_vocabulary(v);
  complete(v);
  check_names(v);
  Ordered j = tokenizer_document<Ordered>();
  j["added_tokens"] = added_tokens(v);
  j["post_processor"] = frame_json(v);
  std::vector<std::string> doubtful;
  if (const PreType* type = bytes_or_characters(v))
    put_bpe(j, v, *type);
  else if (v.model == "llama")
    doubtful = put_spm(j, v);
  else if (v.model == "bert")
    put_wpm(j, v);
  else
    put_ugm(j, v);
  // Where a text begins with a line end what may stand before its first character is no neighbour.
  for (std::string& text : doubtful) text.insert(0, 1, '\n');
  TokenizerFiles files{dump_json(j), config_json(v)};
  compare(stored, Tokenizer::from_json(files.tokenizer, files.config), v, std::move(doubtful));
  return files;
}

}  // namespace dyadic::inline v1::text
