// Tokenizers from a GGUF file's vocabulary: its kinds, as llama.cpp reads them.
#include "text/gguf_vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/jinja.h"
#include "text/spm.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace dyadic::inline v1 {
namespace text {
namespace {

int32_t type_of(const StoredVocabulary& v, size_t id) { return v.types.empty() ? kNormal : v.types[id]; }
bool has_prefix(const StoredVocabulary& v) { return v.add_space_prefix.value_or(true); }

Vocabulary ids_of(const StoredVocabulary& v) {
  Vocabulary out;
  out.reserve(v.tokens.size());
  for (size_t i = 0; i < v.tokens.size(); ++i) out.add(v.tokens[i], int32_t(i));
  return out;
}

void build_bpe(TokenizerState& s, const StoredVocabulary& v, const PreType& type) {
  s.normalizer = make_normalizer(bpe_normalizer(v, type));
  s.pre_tokenizer = make_pre_tokenizer(byte_or_character_pieces(type));
  BpeParts p;
  p.vocabulary = ids_of(v);
  p.merges = stored_merges(v);
  p.ignore_merges = type.ignore_merges;
  p.byte_fallback = p.whole_line_ends = type.blanks;
  s.model = make_bpe(std::move(p));
  s.decoder = make_decoder(bpe_decoder(type));
}

// Spaces become the blank sign; `prefix`: one stands before each stretch of text, the first and those behind special tokens.
class Blanks : public PreTokenizer {
  bool prefix_, collapse_;

 public:
  Blanks(bool prefix, bool collapse) : prefix_(prefix), collapse_(collapse) {}
  void apply(Pieces& pieces) const override {
    for (Piece& p : pieces.list) {
      std::string s;
      if (prefix_) s += kBlank;
      bool last = collapse_;
      for (char c : p.text) {
        if (c != ' ')
          s += c;
        else if (!(last && collapse_))
          s += kBlank;
        last = c == ' ';
      }
      while (collapse_ && s.ends_with(kBlank)) s.resize(s.size() - kBlank.size());
      p.text = pieces.keep(std::move(s));
    }
  }
};

void build_spm(TokenizerState& s, const StoredVocabulary& v) {
  s.pre_tokenizer = std::make_unique<Blanks>(has_prefix(v), false);
  s.model = make_spm(ids_of(v), v.scores, v.types, v.unknown);
  s.decoder = make_decoder(blank_decoder(has_prefix(v)));
}
void build_ugm(TokenizerState& s, const StoredVocabulary& v) {
  if (!v.precompiled_charsmap.empty()) s.normalizer = make_precompiled(v.precompiled_charsmap);
  s.pre_tokenizer = std::make_unique<Blanks>(has_prefix(v), v.remove_extra_whitespaces);
  s.model = make_unigram(unigram_parts(v));
  s.decoder = make_decoder(blank_decoder(has_prefix(v)));
}
void build_wpm(TokenizerState& s, const StoredVocabulary& v) {
  s.normalizer = make_normalizer(bert_normalizer(v));
  s.pre_tokenizer = make_pre_tokenizer({{"type", "BertPreTokenizer"}});
  Json words = Json::object();
  for (size_t i = 0; i < v.tokens.size(); ++i) words.emplace(v.tokens[i], i);
  const std::string unknown = v.unknown >= 0 ? v.tokens[size_t(v.unknown)] : "[UNK]";
  s.model =
      make_model({{"type", "WordPiece"}, {"vocab", words}, {"unk_token", unknown}, {"max_input_chars_per_word", kLongestWord}});
  s.decoder = make_decoder({{"type", "WordPiece"}});
}

void add_specials(TokenizerState& s, const StoredVocabulary& v) {
  for (size_t i = 0; i < v.types.size(); ++i) {
    if (!is_added(v, i)) continue;
    AddedToken t;
    t.content = v.tokens[i];
    t.id = int64_t(i);
    t.special = v.types[i] != kUserDefined;
    s.add(std::move(t));
  }
  s.special_texts = special_texts(v);
  s.frame = frame_of(v);
}

// WordPiece whose first pieces begin with the blank sign and whose others do not; back to the marks that BERT has.
void name_as_bert(StoredVocabulary& v) {
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    std::string& t = v.tokens[i];
    const bool plain = type_of(v, i) == kControl || (t.starts_with('[') && t.ends_with(']'));
    if (t.starts_with(kBlank))
      t = t.substr(kBlank.size());
    else if (!plain)
      t = "##" + t;
    t = valid_utf8(t);
  }
  const std::pair<int64_t*, const char*> names[] = {
      {&v.bos, "[CLS]"}, {&v.separator, "[SEP]"}, {&v.unknown, "[UNK]"}, {&v.padding, "[PAD]"}, {&v.mask, "[MASK]"}};
  for (auto [id, name] : names)
    if (const auto at = std::ranges::find(v.tokens, name); *id < 0 && at != v.tokens.end()) *id = at - v.tokens.begin();
}

}  // namespace

void complete(StoredVocabulary& v) {
  const size_t n = v.tokens.size();
  DY_CHECK_AS(ValueError, n > 0 && n < (1u << 28), "vocabulary: {} tokens", n);
  DY_CHECK_AS(ValueError, v.types.empty() || v.types.size() == n, "vocabulary: {} types of {} tokens", v.types.size(), n);
  const bool scored = v.model == "llama" || v.model == "t5", bert = v.model == "bert";
  DY_CHECK_AS(ValueError, scored || bert || v.model == "gpt2" || v.model == "gemma4",
              "vocabulary: the model \"{}\" is not supported: llama, gpt2, gemma4, bert and t5 are",
              valid_utf8(v.model.substr(0, 80)));
  DY_CHECK_AS(ValueError, !scored || v.scores.size() == n, "vocabulary: {} scores of {} tokens", v.scores.size(), n);
  for (int64_t id : {v.bos, v.eos, v.unknown, v.separator, v.padding, v.mask})
    DY_CHECK_AS(ValueError, id >= -1 && id < int64_t(n), "vocabulary: {} is the id of none of {} tokens", id, n);
  if (bert) name_as_bert(v);
  if (const auto at = std::ranges::find(v.types, kUnknown); scored && v.unknown < 0 && at != v.types.end())
    v.unknown = at - v.types.begin();
}

bool is_added(const StoredVocabulary& v, size_t id) {
  const int32_t type = type_of(v, id);
  return (type == kControl || type == kUserDefined || type == kUnknown) && !v.tokens[id].empty();
}
const PreType* bytes_or_characters(const StoredVocabulary& v) {
  if (v.model == "gemma4") return &pre_type("gemma4");
  return v.model == "gpt2" ? &pre_type(v.pre) : nullptr;
}
Json bpe_normalizer(const StoredVocabulary& v, const PreType& type) {
  if (type.blanks) return {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kBlank}};
  return type.characters && v.lowercase.value_or(false) ? Json{{"type", "Lowercase"}} : Json();
}
Json bpe_decoder(const PreType& type) {
  if (type.blanks) return blank_decoder(false);
  if (type.characters) return {{"type", "Fuse"}};
  return {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
}
Json byte_or_character_pieces(const PreType& type) {
  Json parts = Json::array();
  for (const std::string& p : type.patterns)
    parts.push_back({{"type", "Split"}, {"pattern", {{"Regex", p}}}, {"behavior", "Isolated"}, {"invert", false}});
  if (!type.characters)
    parts.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}});
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}
Json blank_decoder(bool prefix) {
  Json parts = Json::array({{{"type", "Replace"}, {"pattern", {{"String", kBlank}}}, {"content", " "}},
                            {{"type", "ByteFallback"}},
                            {{"type", "Fuse"}}});
  if (prefix) parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1u}, {"stop", 0u}});
  return {{"type", "Sequence"}, {"decoders", parts}};
}
Json bert_normalizer(const StoredVocabulary& v) {
  const Json accents = v.strip_accents ? Json(*v.strip_accents) : Json();
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", true},
          {"strip_accents", accents},
          {"lowercase", v.lowercase.value_or(true)}};
}
UnigramParts unigram_parts(const StoredVocabulary& v) {
  UnigramParts p;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    p.pieces.emplace_back(v.tokens[i], v.scores[i]);
    const int32_t type = type_of(v, i);
    p.unusable.push_back(type == kControl || type == kUnused || type == kUnknown || type == kByte);
    p.byte_fallback |= v.tokens[i] == "<0x00>";
  }
  p.unknown = v.unknown >= 0 ? v.unknown : 2;
  return p;
}
std::vector<std::pair<std::string, std::string>> stored_merges(const StoredVocabulary& v) {
  std::vector<std::pair<std::string, std::string>> all;
  all.reserve(v.merges.size());
  for (const std::string& m : v.merges) {
    const size_t blank = m.find(' ', 1);
    DY_CHECK_AS(ValueError, blank != m.npos, "vocabulary: merge {} is not two tokens", all.size());
    all.emplace_back(m.substr(0, blank), m.substr(blank + 1));
  }
  return all;
}
std::map<std::string, std::string> special_texts(const StoredVocabulary& v) {
  const std::pair<const char*, int64_t> ids[] = {{"bos_token", v.bos},       {"eos_token", v.eos},     {"unk_token", v.unknown},
                                                 {"sep_token", v.separator}, {"pad_token", v.padding}, {"mask_token", v.mask}};
  std::map<std::string, std::string> all;
  for (auto [name, id] : ids)
    if (id >= 0) all[name] = v.tokens[size_t(id)];
  return all;
}
Frame frame_of(const StoredVocabulary& v) {
  Ids before, after;
  const PreType* type = bytes_or_characters(v);
  const bool bert = v.model == "bert", begins = bert || v.model == "llama" || (type && type->add_bos);
  if (v.bos >= 0 && (v.add_bos.value_or(begins) || (type && type->blanks))) before.push_back(v.bos);
  const int64_t end = bert && v.separator >= 0 ? v.separator : v.eos;
  if (end >= 0 && v.add_eos.value_or(v.add_separator.value_or(bert || v.model == "t5"))) after.push_back(end);
  return plain_frame(std::move(before), std::move(after), !bert);
}

std::shared_ptr<TokenizerState> vocabulary_state(StoredVocabulary v) {
  complete(v);
  auto s = std::make_shared<TokenizerState>();
  if (const PreType* type = bytes_or_characters(v))
    build_bpe(*s, v, *type);
  else if (v.model == "llama")
    build_spm(*s, v);
  else if (v.model == "bert")
    build_wpm(*s, v);
  else
    build_ugm(*s, v);
  add_specials(*s, v);
  if (!v.chat_template.empty())
    s->chat_template = std::make_shared<const jinja::Template>(jinja::Template::untried(v.chat_template));
  return s;
}

}  // namespace text

Tokenizer Tokenizer::from_vocabulary(StoredVocabulary v) { return Tokenizer(text::vocabulary_state(std::move(v))); }

}  // namespace dyadic::inline v1
