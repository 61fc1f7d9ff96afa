// Regular expressions as pre-tokenizers use them: alternatives, groups, (?i:), look-ahead and look-behind, \p{L}, scripts and
// [:alpha:], classes in classes and their intersections, greedy, lazy and possessive repeats. Written anew because classes must
// be Unicode 16's and bytes that are no UTF-8 must pass. Backtracking with bounded steps: Error when a text takes more than a
// fixed number per byte.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1::text {

class Regex {
 public:
  struct Program;

 private:
  std::shared_ptr<const Program> program_;

 public:
  explicit Regex(std::string_view pattern);  // ValueError naming what is wrong or not supported, and where
  // The end of a match that begins at `at`; nothing if none does.
  std::optional<size_t> match(std::string_view text, size_t at) const;
  struct Span {
    size_t begin, end;
  };
  std::optional<Span> find(std::string_view text, size_t from) const;  // the first at or after `from`
  friend bool operator==(const Regex&, const Regex&);                  // however they are written
};

}  // namespace dyadic::inline v1::text
