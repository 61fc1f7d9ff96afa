// Pre-tokenizers: how a normalized text is cut before the model sees it.
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/split_matchers.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

using Span = Regex::Span;

class Split : public PreTokenizer {
  Splitter splitter_;
  Behavior behavior_;
  bool invert_;

 public:
  Split(Splitter s, Behavior b, bool invert = false) : splitter_(std::move(s)), behavior_(b), invert_(invert) {}
  void apply(Pieces& pieces) const override {
    split_pieces(pieces, behavior_, invert_, [&](std::string_view s, size_t from) { return splitter_.find(s, from); });
  }
};

// Matches are characters of a kind, or runs of them.
class SplitByKind : public PreTokenizer {
  bool (*is_)(char32_t);
  Behavior behavior_;
  bool runs_;

 public:
  SplitByKind(bool (*is)(char32_t), Behavior b, bool runs) : is_(is), behavior_(b), runs_(runs) {}
  void apply(Pieces& pieces) const override {
    split_pieces(pieces, behavior_, false, [&](std::string_view s, size_t from) -> std::optional<Span> {
      for (size_t i = from; i < s.size();) {
        Char c = decode_utf8(s, i);
        const size_t begin = i;
        i += c.size;
        if (!is_(c.code)) continue;
        while (runs_ && i < s.size() && is_((c = decode_utf8(s, i)).code)) i += c.size;
        return Span{begin, i};
      }
      return {};
    });
  }
};

bool ascii_punctuation(char32_t c) { return c < 128 && c > 32 && c != 127 && !is_letter(c) && !is_number(c); }
bool bert_punctuation(char32_t c) { return ascii_punctuation(c) || is_punctuation(c); }

class Bert : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    SplitByKind(is_space, Behavior::removed, false).apply(pieces);
    SplitByKind(bert_punctuation, Behavior::isolated, false).apply(pieces);
  }
};

class Whitespace : public PreTokenizer {  // \w+|[^\w\s]+
 public:
  void apply(Pieces& pieces) const override {
    split_pieces(pieces, Behavior::removed, true, [](std::string_view s, size_t from) -> std::optional<Span> {
      const auto kind = [](char32_t c) { return is_word(c) ? 2 : is_space(c) ? 0 : 1; };
      for (size_t i = from; i < s.size();) {
        Char c = decode_utf8(s, i);
        const int k = kind(c.code);
        const size_t begin = i;
        i += c.size;
        if (!k) continue;
        while (i < s.size() && kind((c = decode_utf8(s, i)).code) == k) i += c.size;
        return Span{begin, i};
      }
      return {};
    });
  }
};

class ByteLevel : public PreTokenizer {
  bool prefix_space_, use_regex_, last_;

 public:
  ByteLevel(bool prefix_space, bool use_regex, bool last) : prefix_space_(prefix_space), use_regex_(use_regex), last_(last) {}
  void apply(Pieces& pieces) const override {
    if (prefix_space_)
      for (Piece& p : pieces.list)
        if (!p.text.starts_with(' ')) p.text = pieces.keep(" " + std::string(p.text));
    if (use_regex_) {
      static const Splitter gpt2 = Splitter::by_regex(kGpt2Pattern);
      split_pieces(pieces, Behavior::isolated, false, [](std::string_view s, size_t from) { return gpt2.find(s, from); });
    }
    if (last_)
      pieces.byte_level = true;  // the model maps what it does not know from before
    else
      for (Piece& p : pieces.list) p.text = pieces.keep(bytes_to_characters(p.text));
  }
};

class Metaspace : public PreTokenizer {
  std::string replacement_, scheme_;
  bool split_;

 public:
  Metaspace(std::string replacement, std::string scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(std::move(scheme)), split_(split) {}
  void apply(Pieces& pieces) const override {
    for (Piece& p : pieces.list) {
      std::string s;
      for (char c : p.text) c == ' ' ? s += replacement_ : s += c;
      if (!s.starts_with(replacement_) && (scheme_ == "always" || (scheme_ == "first" && p.at_start)))
        s.insert(0, replacement_);
      p.text = pieces.keep(std::move(s));
    }
    if (!split_) return;
    const Splitter at = Splitter::by_text(replacement_);
    split_pieces(pieces, Behavior::merged_with_next, false, [&](std::string_view s, size_t from) { return at.find(s, from); });
  }
};

class FixedLength : public PreTokenizer {
  size_t length_;

 public:
  explicit FixedLength(size_t length) : length_(length) {}
  void apply(Pieces& pieces) const override {
    split_pieces(pieces, Behavior::isolated, false, [&](std::string_view s, size_t from) -> std::optional<Span> {
      size_t end = from;
      for (size_t n = 0; n < length_ && end < s.size(); ++n) end += decode_utf8(s, end).size;
      return end > from ? std::optional(Span{from, end}) : std::nullopt;
    });
  }
};

class Several : public PreTokenizer {
  std::vector<std::unique_ptr<PreTokenizer>> parts_;

 public:
  explicit Several(std::vector<std::unique_ptr<PreTokenizer>> parts) : parts_(std::move(parts)) {}
  void apply(Pieces& pieces) const override {
    for (const auto& p : parts_) p->apply(pieces);
  }
};

std::unique_ptr<PreTokenizer> make_metaspace(const Json& j) {
  std::string replacement = j.contains("replacement") ? text_field(j, "replacement") : "\xe2\x96\x81";
  DY_CHECK_AS(ValueError, !replacement.empty(), "pre_tokenizer Metaspace: replacement is empty");
  std::string scheme = flag(j, "add_prefix_space", true) ? "always" : "never";
  if (j.contains("prepend_scheme") && j["prepend_scheme"].is_string()) scheme = text_field(j, "prepend_scheme");
  return std::make_unique<Metaspace>(std::move(replacement), std::move(scheme), flag(j, "split", true));
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& j, bool last, int depth) {
  if (j.is_null()) return nullptr;
  DY_CHECK_AS(ValueError, depth < kDeepestStage, "pre_tokenizer: sequences nested more than {} deep", kDeepestStage);
  const std::string type = type_of_stage(j, "pre_tokenizer");
  if (type == "Sequence") {
    std::vector<std::unique_ptr<PreTokenizer>> parts;
    const Json& list = member(j, "pretokenizers");
    for (size_t i = 0; i < list.size(); ++i)
      if (auto part = make_pre_tokenizer(list[i], last && i + 1 == list.size(), depth + 1)) parts.push_back(std::move(part));
    return std::make_unique<Several>(std::move(parts));
  }
  if (type == "ByteLevel")
    return std::make_unique<ByteLevel>(flag(j, "add_prefix_space", true), flag(j, "use_regex", true), last);
  if (type == "Split")
    return std::make_unique<Split>(Splitter::from_json(member(j, "pattern")), parse_behavior(text_field(j, "behavior")),
                                   flag(j, "invert", false));
  if (type == "Metaspace") return make_metaspace(j);
  if (type == "Digits")
    return flag(j, "individual_digits", false) ? std::make_unique<SplitByKind>(is_numeric, Behavior::isolated, false)
                                               : std::make_unique<SplitByKind>(is_numeric, Behavior::contiguous, false);
  if (type == "BertPreTokenizer") return std::make_unique<Bert>();
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return std::make_unique<SplitByKind>(is_space, Behavior::removed, false);
  if (type == "Punctuation")
    return std::make_unique<SplitByKind>(
        bert_punctuation, parse_behavior(j.contains("behavior") ? text_field(j, "behavior") : "Isolated"), false);
  if (type == "CharDelimiterSplit")
    return std::make_unique<Split>(Splitter::by_text(text_field(j, "delimiter")), Behavior::removed);
  if (type == "FixedLength") {
    const Json& n = member(j, "length");
    DY_CHECK_AS(ValueError, n.is_number_unsigned() && n.get<uint64_t>() > 0,
                "pre_tokenizer FixedLength: length is no number above 0");
    return std::make_unique<FixedLength>(n.get<uint64_t>());
  }
  fail<ValueError>("pre_tokenizer {} is not supported", valid_utf8(type));
}

}  // namespace dyadic::inline v1::text
