// Decoders: tokens back to text. Each works on the list of tokens; what is left is joined.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/split_matchers.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

using Tokens = std::vector<std::string>;

template <class F> class Function : public Decoder {
  F f_;

 public:
  explicit Function(F f) : f_(std::move(f)) {}
  void apply(Tokens& tokens) const override { f_(tokens); }
};
template <class F> std::unique_ptr<Decoder> function(F f) { return std::make_unique<Function<F>>(std::move(f)); }

std::string replaced(std::string_view s, std::string_view from, std::string_view to) {
  std::string out;
  size_t last = 0;
  for (size_t at; !from.empty() && (at = s.find(from, last)) != s.npos; last = at + from.size()) {
    out += s.substr(last, at - last);
    out += to;
  }
  return out += s.substr(last);
}
std::string cleaned(std::string s) {
  constexpr std::pair<std::string_view, std::string_view> kBlanks[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (auto [from, to] : kBlanks) s = replaced(s, from, to);
  return s;
}

void join_all(Tokens& t) {
  std::string all;
  for (const auto& s : t) all += s;
  t = {std::move(all)};
}
void byte_level(Tokens& t) {
  for (auto& s : t)
    if (std::string bytes; characters_to_bytes(s, bytes)) s = std::move(bytes);
}
// The bytes themselves: what is no UTF-8 is for the reader to replace.
void byte_fallback(Tokens& t) {
  for (auto& s : t)
    if (const int b = parse_byte_token(s); b >= 0) s = std::string(1, char(b));
}
void metaspace(Tokens& t, const std::string& replacement, bool prepends) {
  for (size_t i = 0; i < t.size(); ++i) t[i] = replaced(t[i], replacement, i == 0 && prepends ? "" : " ");
}
void strip(Tokens& t, std::string_view content, size_t start, size_t stop) {
  for (auto& s : t) {
    std::string_view v = s;
    for (size_t i = 0; i < start && v.starts_with(content); ++i) v.remove_prefix(content.size());
    for (size_t i = 0; i < stop && v.ends_with(content); ++i) v.remove_suffix(content.size());
    s = std::string(v);
  }
}
void word_piece(Tokens& t, std::string_view prefix, bool clean) {
  for (size_t i = 0; i < t.size(); ++i) {
    if (i > 0) t[i] = t[i].starts_with(prefix) ? t[i].substr(prefix.size()) : " " + t[i];
    if (clean) t[i] = cleaned(t[i]);
  }
}
void ctc(Tokens& t, const std::string& pad, const std::string& word, bool clean) {
  t.erase(std::unique(t.begin(), t.end()), t.end());
  for (auto& s : t) {
    s = replaced(s, pad, "");
    if (clean) s = replaced(cleaned(s), word, " ");
  }
  std::erase(t, "");
}
void replace_each(Tokens& t, const Splitter& at, const std::string& content) {
  for (auto& s : t) at.replace(s, content);
}

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Json& j, int depth) {
  if (j.is_null()) return nullptr;
  DY_CHECK_AS(ValueError, depth < kDeepestStage, "decoder: sequences nested more than {} deep", kDeepestStage);
  const std::string type = type_of_stage(j, "decoder");
  if (type == "Sequence") {
    std::vector<std::shared_ptr<Decoder>> parts;
    for (const Json& part : member(j, "decoders"))
      if (auto d = make_decoder(part, depth + 1)) parts.push_back(std::move(d));
    return function([parts](Tokens& t) {
      for (const auto& p : parts) p->apply(t);
    });
  }
  if (type == "ByteLevel") return function(byte_level);
  if (type == "ByteFallback") return function(byte_fallback);
  if (type == "Fuse") return function(join_all);
  if (type == "Metaspace") {
    const std::string r = j.contains("replacement") ? text_field(j, "replacement") : "\xe2\x96\x81";
    const bool prepends =
        j.contains("prepend_scheme") ? text_field(j, "prepend_scheme") != "never" : flag(j, "add_prefix_space", true);
    return function([=](Tokens& t) { metaspace(t, r, prepends); });
  }
  if (type == "Strip") {
    const auto number = [&](const char* name) {
      const Json& n = member(j, name);
      DY_CHECK_AS(ValueError, n.is_number_unsigned(), "decoder Strip: {} is no number", name);
      return n.get<size_t>();
    };
    const std::string content = text_field(j, "content");
    if (content.empty()) return nullptr;
    return function([=, start = number("start"), stop = number("stop")](Tokens& t) { strip(t, content, start, stop); });
  }
  if (type == "Replace")
    return function(
        [at = Splitter::from_json(member(j, "pattern")), c = text_field(j, "content")](Tokens& t) { replace_each(t, at, c); });
  if (type == "WordPiece")
    return function([p = j.contains("prefix") ? text_field(j, "prefix") : "##", c = flag(j, "cleanup", true)](Tokens& t) {
      word_piece(t, p, c);
    });
  if (type == "BPEDecoder")
    return function([s = j.contains("suffix") ? text_field(j, "suffix") : "</w>"](Tokens& t) {
      for (size_t i = 0; i < t.size(); ++i) t[i] = replaced(t[i], s, i + 1 == t.size() ? "" : " ");
    });
  if (type == "CTC")
    return function([p = text_field(j, "pad_token"), w = text_field(j, "word_delimiter_token"),
                     c = flag(j, "cleanup", true)](Tokens& t) { ctc(t, p, w, c); });
  fail<ValueError>("decoder {} is not supported", valid_utf8(type));
}

}  // namespace dyadic::inline v1::text
