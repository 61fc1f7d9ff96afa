// Cutting text by a pattern: a text, a regular expression, or a hand-written matcher of a well-known one.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "text/regex.h"
#include "text/stages.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {

// Where the match ends that begins at `at`; `at` where there is none.
using Match = size_t (*)(std::string_view text, size_t at);
Match known_matcher(std::string_view pattern);  // null: not a well-known one
extern const char* const kGpt2Pattern;

class Splitter {
  std::string literal_;
  std::shared_ptr<const Regex> regex_;
  Match match_ = nullptr;

 public:
  static Splitter by_text(std::string text);
  static Splitter by_regex(std::string_view pattern);
  static Splitter from_json(const Json& pattern);  // {"String": ...} or {"Regex": ...}
  // The next match at or after `from`; an empty one is a place between two characters.
  std::optional<Regex::Span> find(std::string_view text, size_t from) const;
  void replace(std::string& text, std::string_view content) const;  // every match
};

enum class Behavior : uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };
Behavior parse_behavior(std::string_view name);

// All matches that `find` finds, one after the other; an empty one does not stand right behind another.
template <class Find, class Take> void each_match(std::string_view s, Find find, Take take) {
  size_t last = s.npos;
  for (auto m = find(s, size_t(0)); m;) {
    size_t from = m->end;
    if (m->begin < m->end || m->end != last)
      take(*m);
    else if (from < s.size())
      from += decode_utf8(s, from).size;
    else
      return;
    last = m->end;
    m = find(s, from);
  }
}

// Cuts every piece; `find(text, from)` gives the next match. Empty pieces vanish. With `invert` what lies between matches
// counts as the match.
template <class Find> void split_pieces(Pieces& pieces, Behavior behavior, bool invert, Find find) {
  std::vector<Piece> out;
  out.reserve(pieces.list.size());
  struct Part {
    size_t begin, end;
    bool match;
  };
  std::vector<Part> parts;
  for (const Piece& piece : pieces.list) {
    parts.clear();
    const std::string_view s = piece.text;
    size_t last = 0;
    each_match(s, find, [&](Regex::Span m) {
      if (m.begin > last) parts.push_back({last, m.begin, invert});
      parts.push_back({m.begin, m.end, !invert});
      last = m.end;
    });
    if (last < s.size()) parts.push_back({last, s.size(), invert});
    const auto put = [&](size_t b, size_t e) {
      if (e > b) out.push_back({s.substr(b, e - b), piece.at_start && b == 0});
    };
    size_t begin = 0;  // of a piece that is not finished
    for (size_t i = 0; i < parts.size(); ++i) {
      const Part& p = parts[i];
      const bool end = i + 1 == parts.size();
      switch (behavior) {
        case Behavior::removed:
          if (!p.match) put(p.begin, p.end);
          break;
        case Behavior::isolated:
          put(p.begin, p.end);
          break;
        case Behavior::contiguous:
          if (end || parts[i + 1].match != p.match) put(begin, p.end), begin = p.end;
          break;
        case Behavior::merged_with_previous:
          if (p.match || end || !parts[i + 1].match) put(begin, p.end), begin = p.end;
          break;
        case Behavior::merged_with_next:
          if (!p.match || end || parts[i + 1].match) put(begin, p.end), begin = p.end;
          break;
      }
    }
  }
  pieces.list = std::move(out);
}

}  // namespace dyadic::inline v1::text
