// Tokenizers from a GGUF file's vocabulary: the four kinds, as llama.cpp reads them.
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/jinja.h"
#include "text/pre_types.h"
#include "text/spm.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace dyadic::inline v1 {
namespace text {
namespace {

constexpr int kControl = 3, kUserDefined = 4, kUnused = 5;
constexpr std::string_view kBlank = "\xe2\x96\x81";

Json split_json(const std::string& pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}
Vocabulary vocabulary_of(const StoredVocabulary& v) {
  Vocabulary out;
  out.reserve(v.tokens.size());
  for (size_t i = 0; i < v.tokens.size(); ++i) out.add(v.tokens[i], int32_t(i));
  return out;
}

void build_bpe(TokenizerState& s, StoredVocabulary& v) {
  const PreType& type = pre_type(v.pre);
  Json parts = Json::array();
  for (const std::string& p : type.patterns) parts.push_back(split_json(p));
  parts.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  s.pre_tokenizer = make_pre_tokenizer({{"type", "Sequence"}, {"pretokenizers", parts}});
  BpeParts p;
  p.vocabulary = vocabulary_of(v);
  p.ignore_merges = type.ignore_merges;
  for (const std::string& m : v.merges) {
    const size_t blank = m.find(' ', 1);
    DY_CHECK_AS(ValueError, blank != m.npos, "vocabulary: merge {} is not two tokens", p.merges.size());
    p.merges.emplace_back(m.substr(0, blank), m.substr(blank + 1));
  }
  s.model = make_bpe(std::move(p));
  s.decoder = make_decoder({{"type", "ByteLevel"}});
}

// Spaces become the blank sign; `prefix`: one stands before a text's first character.
class Blanks : public PreTokenizer {
  bool prefix_, collapse_;

 public:
  Blanks(bool prefix, bool collapse) : prefix_(prefix), collapse_(collapse) {}
  void apply(Pieces& pieces) const override {
    for (Piece& p : pieces.list) {
      std::string s;
      if (prefix_ && p.at_start) s += kBlank;
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
void blank_decoder(TokenizerState& s, bool prefix) {
  Json parts = Json::array({{{"type", "Replace"}, {"pattern", {{"String", kBlank}}}, {"content", " "}},
                            {{"type", "ByteFallback"}},
                            {{"type", "Fuse"}}});
  if (prefix) parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1u}, {"stop", 0u}});
  s.decoder = make_decoder({{"type", "Sequence"}, {"decoders", parts}});
}

void build_spm(TokenizerState& s, StoredVocabulary& v) {
  const bool prefix = v.add_space_prefix.value_or(true);
  s.pre_tokenizer = std::make_unique<Blanks>(prefix, false);
  s.model = make_spm(vocabulary_of(v), v.scores, v.types, v.unknown);
  blank_decoder(s, prefix);
}
void build_ugm(TokenizerState& s, StoredVocabulary& v) {
  const bool prefix = v.add_space_prefix.value_or(true);
  if (!v.precompiled_charsmap.empty()) s.normalizer = make_precompiled(v.precompiled_charsmap);
  s.pre_tokenizer = std::make_unique<Blanks>(prefix, v.remove_extra_whitespaces);
  UnigramParts p;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    p.pieces.emplace_back(v.tokens[i], v.scores[i]);
    const int type = v.types.empty() ? 1 : v.types[i];
    p.unusable.push_back(type == kControl || type == kUnused || type == 2 || type == 6);
  }
  p.unknown = v.unknown >= 0 ? v.unknown : 2;
  p.byte_fallback = vocabulary_of(v).find("<0x00>").has_value();
  s.model = make_unigram(std::move(p));
  blank_decoder(s, prefix);
}
// WordPiece whose first pieces begin with the blank sign and whose others do not; back to the marks that BERT has.
void build_wpm(TokenizerState& s, StoredVocabulary& v) {
  s.normalizer = make_normalizer({{"type", "BertNormalizer"}});
  s.pre_tokenizer = make_pre_tokenizer({{"type", "BertPreTokenizer"}});
  Json words = Json::object();
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    std::string& t = v.tokens[i];
    const bool plain = t.starts_with('[') && t.ends_with(']');
    if (t.starts_with(kBlank))
      t = t.substr(kBlank.size());
    else if (!plain)
      t = "##" + t;
    t = valid_utf8(t);
    words.emplace(t, i);
  }
  const std::string unknown = v.unknown >= 0 ? v.tokens[size_t(v.unknown)] : "[UNK]";
  s.model = make_model({{"type", "WordPiece"}, {"vocab", words}, {"unk_token", unknown}, {"max_input_chars_per_word", 1000}});
  s.decoder = make_decoder({{"type", "WordPiece"}});
}

void check(const StoredVocabulary& v) {
  const size_t n = v.tokens.size();
  DY_CHECK_AS(ValueError, n > 0 && n < (1u << 28), "vocabulary: {} tokens", n);
  DY_CHECK_AS(ValueError, v.types.empty() || v.types.size() == n, "vocabulary: {} types of {} tokens", v.types.size(), n);
  const bool scored = v.model == "llama" || v.model == "t5";
  DY_CHECK_AS(ValueError, !scored || v.scores.size() == n, "vocabulary: {} scores of {} tokens", v.scores.size(), n);
  for (int64_t id : {v.bos, v.eos, v.unknown, v.separator, v.padding})
    DY_CHECK_AS(ValueError, id >= -1 && id < int64_t(n), "vocabulary: {} is the id of none of {} tokens", id, n);
}

void add_specials(TokenizerState& s, const StoredVocabulary& v) {
  for (size_t i = 0; i < v.types.size(); ++i) {
    if (v.types[i] != kControl && v.types[i] != kUserDefined) continue;
    AddedToken t;
    t.content = v.tokens[i];
    t.id = int64_t(i);
    t.special = v.types[i] == kControl;
    s.add(std::move(t));
  }
  const auto name = [&](const char* what, int64_t id) {
    if (id >= 0) s.special_texts[what] = v.tokens[size_t(id)];
  };
  name("bos_token", v.bos);
  name("eos_token", v.eos);
  name("unk_token", v.unknown);
  name("sep_token", v.separator);
  name("pad_token", v.padding);
  const bool bert = v.model == "bert";
  if (v.bos >= 0 && v.add_bos.value_or(bert || v.model == "llama")) s.frame.before.push_back(v.bos);
  const int64_t end = bert && v.separator >= 0 ? v.separator : v.eos;
  if (end >= 0 && v.add_eos.value_or(v.add_separator.value_or(bert || v.model == "t5"))) s.frame.after.push_back(end);
}

}  // namespace
}  // namespace text

Tokenizer Tokenizer::from_vocabulary(StoredVocabulary v) {
  text::check(v);
  auto s = std::make_shared<text::TokenizerState>();
  if (v.model == "gpt2")
    text::build_bpe(*s, v);
  else if (v.model == "llama")
    text::build_spm(*s, v);
  else if (v.model == "bert")
    text::build_wpm(*s, v);
  else if (v.model == "t5")
    text::build_ugm(*s, v);
  else
    fail<ValueError>("vocabulary: the model \"{}\" is not supported: llama, gpt2, bert and t5 are",
                     text::valid_utf8(v.model.substr(0, 80)));
  text::add_specials(*s, v);
  if (!v.chat_template.empty()) s->chat_template = std::make_shared<const text::jinja::Template>(v.chat_template);
  return Tokenizer(std::move(s));
}

}  // namespace dyadic::inline v1
