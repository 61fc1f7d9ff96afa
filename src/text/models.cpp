// The model of a tokenizer.json: which of the four it is, its vocabulary, and the two that look words up.
#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "text/stages.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

// Ids are the file's; they may have gaps, but a table of ids must not be larger than what the file holds.
Vocabulary read_vocabulary(const Json& model) {
  const Json& list = member(model, "vocab");
  DY_CHECK_AS(ValueError, list.is_object(), "model: vocab is not an object");
  const size_t limit = list.size() * 4 + 4096;
  Vocabulary v;
  v.reserve(list.size());
  for (const auto& [token, id] : list.items()) {
    DY_CHECK_AS(ValueError, id.is_number_unsigned() && id.get<uint64_t>() < limit,
                "model: token \"{}\": its id {} is no number below {}", valid_utf8(token),
                id.is_number() ? dump_json(id) : id.type_name(), limit);
    v.add(token, id.get<int32_t>());
  }
  return v;
}

std::unique_ptr<Model> read_bpe(const Json& j) {
  BpeParts p;
  p.vocabulary = read_vocabulary(j);
  const auto text = [&](const char* name) { return j.contains(name) && j[name].is_string() ? j[name].get<std::string>() : ""; };
  if (j.contains("unk_token") && j["unk_token"].is_string()) p.unknown = text("unk_token");
  p.prefix = text("continuing_subword_prefix");
  p.suffix = text("end_of_word_suffix");
  p.fuse_unknown = flag(j, "fuse_unk", false);
  p.byte_fallback = flag(j, "byte_fallback", false);
  p.ignore_merges = flag(j, "ignore_merges", false);
  for (const Json& m : member(j, "merges")) {
    if (m.is_array() && m.size() == 2 && m[0].is_string() && m[1].is_string()) {
      p.merges.emplace_back(m[0].get<std::string>(), m[1].get<std::string>());
      continue;
    }
    const std::string s = m.is_string() ? m.get<std::string>() : "";
    const size_t blank = s.find(' ');
    DY_CHECK_AS(ValueError, blank != s.npos && s.find(' ', blank + 1) == s.npos, "model: merge {} is not two tokens",
                p.merges.size());
    p.merges.emplace_back(s.substr(0, blank), s.substr(blank + 1));
  }
  return make_bpe(std::move(p));
}

std::unique_ptr<Model> read_unigram(const Json& j) {
  UnigramParts p;
  const Json& list = member(j, "vocab");
  DY_CHECK_AS(ValueError, list.is_array(), "model: vocab is not a list");
  for (const Json& e : list) {
    DY_CHECK_AS(ValueError, e.is_array() && e.size() == 2 && e[0].is_string() && e[1].is_number(),
                "model: piece {} is not a text and a score", p.pieces.size());
    p.pieces.emplace_back(e[0].get<std::string>(), e[1].get<double>());
  }
  if (j.contains("unk_id") && j["unk_id"].is_number_unsigned()) p.unknown = j["unk_id"].get<int64_t>();
  p.byte_fallback = flag(j, "byte_fallback", false);
  return make_unigram(std::move(p));
}

// WordPiece takes the longest piece from the left each time; WordLevel the whole word or nothing.
class Words : public Model {
  Vocabulary vocabulary_;
  int32_t unknown_;
  std::string prefix_;
  size_t longest_;  // characters; 0: WordLevel

 public:
  Words(const Json& j, bool pieces) : vocabulary_(read_vocabulary(j)) {
    const std::string name = j.contains("unk_token") ? text_field(j, "unk_token") : "[UNK]";
    unknown_ = vocabulary_.find(name).value_or(-1);
    prefix_ = pieces && j.contains("continuing_subword_prefix") ? text_field(j, "continuing_subword_prefix") : "##";
    longest_ = !pieces ? 0
               : j.contains("max_input_chars_per_word") && j["max_input_chars_per_word"].is_number_unsigned()
                   ? j["max_input_chars_per_word"].get<size_t>()
                   : 100;
    DY_CHECK_AS(ValueError, !pieces || unknown_ >= 0, "model: the unk_token \"{}\" is not in the vocabulary", valid_utf8(name));
    if (pieces && longest_ == 0) longest_ = 1;
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

  void encode(std::string_view raw, bool byte_level, Ids& ids) const override {
    const std::string mapped = byte_level ? bytes_to_characters(raw) : std::string();
    const std::string_view word = byte_level ? std::string_view(mapped) : raw;
    if (!longest_) {
      if (const int32_t id = vocabulary_.find(word).value_or(unknown_); id >= 0) ids.push_back(id);
      return;
    }
    const size_t before = ids.size();
    if (utf8_length(word) > longest_) return ids.push_back(unknown_);
    for (size_t begin = 0; begin < word.size();) {
      std::optional<int32_t> id;
      size_t end = word.size();
      for (; end > begin; end -= last_char(word.substr(begin, end - begin)).size) {
        const std::string_view s = word.substr(begin, end - begin);
        id = begin ? vocabulary_.find(prefix_ + std::string(s)) : vocabulary_.find(s);
        if (id) break;
      }
      if (!id) {
        ids.resize(before);
        return ids.push_back(unknown_);
      }
      ids.push_back(*id);
      begin = end;
    }
  }
};

}  // namespace

std::unique_ptr<Model> make_model(const Json& j) {
  DY_CHECK_AS(ValueError, j.is_object(), "model: it is missing");
  std::string type = j.contains("type") ? text_field(j, "type") : "";
  if (type.empty())  // old files do not say
    type = j.contains("merges")                      ? "BPE"
           : j.contains("unk_id")                    ? "Unigram"
           : j.contains("continuing_subword_prefix") ? "WordPiece"
                                                     : "WordLevel";
  if (type == "BPE") return read_bpe(j);
  if (type == "Unigram") return read_unigram(j);
  if (type == "WordPiece") return std::make_unique<Words>(j, true);
  if (type == "WordLevel") return std::make_unique<Words>(j, false);
  fail<ValueError>("model {} is not supported", valid_utf8(type));
}

bool flag(const Json& j, const char* name, bool otherwise) {
  auto at = j.find(name);
  if (at == j.end() || at->is_null()) return otherwise;
  DY_CHECK_AS(ValueError, at->is_boolean(), "{} is neither true nor false", name);
  return at->get<bool>();
}
const Json& member(const Json& j, const char* name) {
  auto at = j.is_object() ? j.find(name) : j.end();
  DY_CHECK_AS(ValueError, at != j.end(), "{} is missing", name);
  return *at;
}
std::string text_field(const Json& j, const char* name) {
  const Json& m = member(j, name);
  DY_CHECK_AS(ValueError, m.is_string(), "{} is not a text", name);
  return m.get<std::string>();
}
std::string type_of_stage(const Json& j, const char* what) {
  DY_CHECK_AS(ValueError, j.is_object() && j.contains("type") && j["type"].is_string(), "{}: its type is missing", what);
  return j["type"].get<std::string>();
}

}  // namespace dyadic::inline v1::text
