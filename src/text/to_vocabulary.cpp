// A tokenizer.json as the vocabulary of a GGUF file: byte-level BPE; BPE over characters with bytes to fall back to, which GGUF
// keeps as SentencePiece does: pieces with scores, of which the higher is merged first; Unigram; BERT's pieces of words.
#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "io/bad_file.h"
#include "text/gguf_vocabulary.h"
#include "text/jinja.h"
#include "text/split_matchers.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace dyadic::inline v1 {
namespace text {
namespace {

constexpr const char* kNoNormalizer = "GGUF has no form for what this tokenizer makes of a text's characters";

bool is(const Json* stage, const char* type) { return stage->value("type", "") == type; }

// What a sequence of stages is made of; the reader has bounded its depth.
void flatten(const Json& stage, const char* members, std::vector<const Json*>& all) {
  if (stage.is_object() && stage.contains(members)) {
    for (const Json& s : stage[members]) flatten(s, members, all);
  } else if (stage.is_object()) {
    all.push_back(&stage);
  }
}
std::vector<const Json*> stages(const Json& j, const char* name, const char* members) {
  std::vector<const Json*> all;
  if (j.contains(name)) flatten(j[name], members, all);
  return all;
}

// The patterns by which byte-level text is cut; nothing where it is cut otherwise.
std::optional<std::vector<std::string>> patterns_of(const std::vector<const Json*>& pre) {
  std::vector<std::string> patterns;
  for (const Json* stage : pre) {
    const bool regex = is(stage, "Split") && stage->contains("pattern") && (*stage)["pattern"].contains("Regex");
    if (is(stage, "ByteLevel")) {
      if (flag(*stage, "use_regex", true)) patterns.push_back(kGpt2Pattern);
    } else if (is(stage, "Digits") && flag(*stage, "individual_digits", false)) {
      patterns.push_back(R"(\p{N})");
    } else if (regex && stage->value("behavior", "") == "Isolated" && !flag(*stage, "invert", false)) {
      patterns.push_back((*stage)["pattern"]["Regex"].get<std::string>());
    } else {
      return {};
    }
  }
  return patterns;
}
std::string name_of_pattern(const std::vector<const Json*>& pre, bool ignore_merges, bool characters) {
  const auto compiled = [](const std::vector<std::string>& patterns) {
    return std::vector<Regex>(patterns.begin(), patterns.end());
  };
  if (const auto patterns = patterns_of(pre))
    for (const auto wanted = compiled(*patterns); const PreType& t : pre_types())
      if (t.characters == characters && !t.blanks && t.ignore_merges == ignore_merges && compiled(t.patterns) == wanted)
        return std::string(t.names.substr(1, t.names.find(' ', 1) - 1));
  fail<ValueError>("vocabulary: GGUF has no name for the way this tokenizer cuts text");
}

std::vector<std::pair<std::string, std::string>> merges_of(const Json& model) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Json& m : model["merges"]) {
    if (m.is_array()) {
      all.emplace_back(m[0].get<std::string>(), m[1].get<std::string>());
    } else {
      const std::string s = m.get<std::string>();
      all.emplace_back(s.substr(0, s.find(' ')), s.substr(s.find(' ') + 1));
    }
  }
  return all;
}

// Every id has a token: those without one are named after themselves, and are never made.
void fill_tokens(const TokenizerState& s, size_t size, StoredVocabulary& v) {
  for (size_t i = 0; i < size; ++i) {
    const auto token = s.token(int64_t(i));
    v.tokens.push_back(token ? *token : fmt::format("[PAD{}]", i));
    v.types.push_back(token ? kNormal : kUnused);
  }
  for (const AddedToken& t : s.added) v.types[size_t(t.id)] = t.special ? kControl : kUserDefined;
}

void fill_bpe(const Json& j, const std::vector<const Json*>& pre, bool bytes, StoredVocabulary& v) {
  v.model = "gpt2";
  v.pre = name_of_pattern(pre, flag(j["model"], "ignore_merges", false), !bytes);
  if (const auto normalizer = stages(j, "normalizer", "normalizers"); !bytes && !normalizer.empty()) {
    DY_CHECK_AS(ValueError, normalizer.size() == 1 && is(normalizer[0], "Lowercase"), "vocabulary: {}", kNoNormalizer);
    v.lowercase = true;
  }
  for (const char* field : {"unk_token", "continuing_subword_prefix", "end_of_word_suffix"})
    DY_CHECK_AS(ValueError, bytes || !j["model"].value(field, Json()).is_string(),
                "vocabulary: GGUF has no {} where pieces are of characters", field);
  for (const Json* stage : pre)
    if (is(stage, "ByteLevel") && flag(*stage, "add_prefix_space", true)) v.add_space_prefix = true;
  for (auto& [left, right] : merges_of(j["model"])) v.merges.push_back(left + " " + right);
}

bool puts_blank_before(const Json& j, const std::vector<const Json*>& pre) {
  bool before = false;
  for (const Json* stage : stages(j, "normalizer", "normalizers")) before |= is(stage, "Prepend");
  for (const Json* stage : pre)
    if (is(stage, "Metaspace"))
      before =
          stage->contains("prepend_scheme") ? (*stage)["prepend_scheme"] != "never" : flag(*stage, "add_prefix_space", true);
  return before;
}

void fill_pieces(const TokenizerState& s, const Json& j, const std::vector<const Json*>& pre, StoredVocabulary& v) {
  v.model = "llama", v.pre = "default";
  v.add_space_prefix = puts_blank_before(j, pre);
  // A piece that no merge makes is found whole or not at all.
  v.scores.assign(v.tokens.size(), -1e6f);
  float rank = 0;
  for (auto& [left, right] : merges_of(j["model"])) {
    --rank;
    if (const auto id = s.model->vocabulary().find(left + right)) v.scores[size_t(*id)] = std::max(v.scores[size_t(*id)], rank);
  }
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (v.types[i] == kNormal && parse_byte_token(v.tokens[i]) >= 0) v.types[i] = kByte;
  if (v.unknown >= 0) v.types[size_t(v.unknown)] = kUnknown;
}

// Whether a stage does no more than to gather and mark blanks.
bool treats_blanks(const Json& stage) {
  if (is(&stage, "Prepend") || is(&stage, "Strip")) return true;
  if (!is(&stage, "Replace")) return false;
  const std::string pattern = stage["pattern"].begin()->get<std::string>(), content = text_field(stage, "content");
  std::string marks = pattern;
  for (size_t at; (at = marks.find(kBlank)) != marks.npos;) marks.replace(at, kBlank.size(), " ");
  for (const char* edge : {"\\A", "\\z", "^", "$"})
    if (const size_t at = marks.find(edge); at != marks.npos) marks.erase(at, std::string_view(edge).size());
  return marks.find_first_not_of(" +{}2,") == marks.npos && (content.empty() || content == " " || content == kBlank);
}

void fill_unigram(const Json& j, const std::vector<const Json*>& pre, StoredVocabulary& v) {
  v.model = "t5", v.pre = "default";
  const Json& model = j["model"];
  DY_CHECK_AS(ValueError, model.value("unk_id", Json()).is_number_integer(),
              "vocabulary: GGUF has no pieces with scores without one for what is unknown");
  v.unknown = model["unk_id"].get<int64_t>();
  v.scores.assign(v.tokens.size(), 0);
  for (size_t i = 0; i < model["vocab"].size(); ++i) v.scores[i] = model["vocab"][i][1].get<float>();
  for (const Json* stage : stages(j, "normalizer", "normalizers"))
    if (is(stage, "Precompiled"))
      v.precompiled_charsmap += from_base64(text_field(*stage, "precompiled_charsmap"));
    else
      DY_CHECK_AS(ValueError, treats_blanks(*stage), "vocabulary: {}", kNoNormalizer);
  bool words = false;  // the text is cut before each blank
  for (const Json* stage : pre)
    words |= is(stage, "WhitespaceSplit") || (is(stage, "Metaspace") && flag(*stage, "split", true));
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (v.types[i] == kNormal) {
      if (flag(model, "byte_fallback", false) && parse_byte_token(v.tokens[i]) >= 0) v.types[i] = kByte;
      if (words && v.tokens[i].find(kBlank, 1) != v.tokens[i].npos) v.types[i] = kUnused;
    }
  v.add_space_prefix = puts_blank_before(j, pre);
}

// What blanks become is told by what both make of texts.
void settle_blanks(const Tokenizer& own, StoredVocabulary& v) {
  std::vector<std::string> texts = {"", " ", "  ", "a", " a", "a ", "  a", "a  ", "  a   b  c ", " \n a\t\tb \n"};
  for (char32_t c = 0; c < 0x3001; ++c)
    if (is_space(c)) {
      std::string s;
      append_utf8(s, c);
      texts.push_back(s + "a" + s + "b" + s + s + "c" + s);
    }
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (v.types[i] == kNormal) texts.push_back(own.decode({int64_t(i)}));
  const auto ids = own.encode_batch(texts, false);
  ptrdiff_t same = 0;  // the more of them the closer
  for (bool collapse : {false, true}) {
    v.remove_extra_whitespaces = collapse;
    const auto stored = Tokenizer::from_vocabulary(v).encode_batch(texts, false);
    const auto at = std::ranges::mismatch(ids, stored).in1 - ids.begin();
    if (at == ptrdiff_t(ids.size())) return;
    same = std::max(same, at);
  }
  fail<ValueError>("vocabulary: {} would become other tokens", io::quote_name(texts[size_t(same)]));
}

// Pieces that begin a word have U+2581 before them there, and those that go on with one have no mark.
void fill_words(const TokenizerState& s, const Json& j, const std::vector<const Json*>& pre, StoredVocabulary& v) {
  const auto normalizer = stages(j, "normalizer", "normalizers");
  DY_CHECK_AS(ValueError, j["model"].value("continuing_subword_prefix", "##") == "##",
              "vocabulary: GGUF knows no other mark of a piece within a word than ##");
  DY_CHECK_AS(ValueError,
              normalizer.size() == 1 && is(normalizer[0], "BertNormalizer") && flag(*normalizer[0], "clean_text", true) &&
                  flag(*normalizer[0], "handle_chinese_chars", true) && pre.size() == 1 && is(pre[0], "BertPreTokenizer"),
              "vocabulary: GGUF has no name for the way this tokenizer cuts text");
  v.model = "bert", v.pre = "default";
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (std::string& t = v.tokens[i]; v.types[i] == kNormal && !(t.starts_with('[') && t.ends_with(']')))
      t = t.starts_with("##") ? t.substr(2) : std::string(kBlank) + t;
  v.lowercase = flag(*normalizer[0], "lowercase", true);
  if (const Json accents = normalizer[0]->value("strip_accents", Json()); accents.is_boolean())
    v.strip_accents = accents.get<bool>();
  const auto only = [](const Ids& ids) { return ids.size() == 1 ? ids[0] : -1; };
  if (v.bos < 0) v.bos = only(s.frame.before);
  if (v.separator < 0) v.separator = only(s.frame.after);
  v.add_separator = !s.frame.after.empty();
}

}  // namespace

StoredVocabulary to_vocabulary(const Tokenizer& own, const TokenizerState& s, size_t size) {
  DY_CHECK_AS(ValueError, !s.json.empty(), "vocabulary: a GGUF file's is kept in its keys");
  const Json j = parse_json(s.json);
  const bool bpe = j["model"].contains("merges"), words = j["model"].value("type", "") == "WordPiece",
             unigram = j["model"].contains("vocab") && j["model"]["vocab"].is_array();
  const std::vector<const Json*> pre = stages(j, "pre_tokenizer", "pretokenizers");
  const bool bytes = std::ranges::any_of(pre, [](const Json* stage) { return is(stage, "ByteLevel"); });
  DY_CHECK_AS(ValueError, words || unigram || bpe, "vocabulary: only BPE, Unigram and WordPiece are written to GGUF");
  StoredVocabulary v;
  fill_tokens(s, size, v);
  const auto id = [&](const char* name) { return s.special(name).value_or(-1); };
  v.bos = id("bos_token"), v.eos = id("eos_token"), v.unknown = id("unk_token"), v.padding = id("pad_token");
  v.separator = id("sep_token"), v.mask = id("mask_token");
  if (v.unknown < 0 && j["model"].value("unk_token", Json()).is_string())
    v.unknown = s.find(j["model"]["unk_token"].get<std::string>()).value_or(-1);
  if (words)
    fill_words(s, j, pre, v);
  else if (unigram)
    fill_unigram(j, pre, v);
  else if (bytes || !flag(j["model"], "byte_fallback", false))
    fill_bpe(j, pre, bytes, v);
  else
    fill_pieces(s, j, pre, v);
  const auto frames = [](const Ids& ids, int64_t id) { return std::ranges::find(ids, id) != ids.end(); };
  if (v.bos >= 0) v.add_bos = frames(s.frame.before, v.bos);
  if (v.eos >= 0) v.add_eos = frames(s.frame.after, v.eos);
  if (unigram) settle_blanks(own, v);
  if (s.chat_template) v.chat_template = s.chat_template->source();
  return v;
}

}  // namespace text

StoredVocabulary Tokenizer::stored_vocabulary(int64_t size) const {
  const int64_t own = vocab_size();
  DY_CHECK_AS(ValueError, size == 0 || size >= own, "vocabulary: the tokenizer has {} tokens, more than {}", own, size);
  return text::to_vocabulary(*this, *state_, size_t(std::max(size, own)));
}

}  // namespace dyadic::inline v1
