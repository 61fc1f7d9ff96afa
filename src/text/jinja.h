// Chat templates: the part of Jinja that they are written in. A template is data from strangers: it sees only what it is given,
// and its steps, its output and what it holds on the way are bounded.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_value.h"

namespace dyadic::inline v1::text::jinja {

struct Body;

struct Limits {
  uint64_t steps = 20'000'000;
  uint64_t bytes = 256 << 20;  // of texts and lists made, in all
};

class Template {
  std::shared_ptr<const Body> body_;  // null: of `error_`
  std::string source_, error_;
  Template() = default;

 public:
  explicit Template(std::string_view source);  // ValueError "chat template, line 3: ..."
  // Of a model that may be used without: what is wrong with it is said when it is to write something.
  static Template untried(std::string_view source);
  const std::string& source() const { return source_; }
  // What the template writes, given these names. `now`: seconds since 1970 for strftime_now, in UTC; -1: the clock, local time.
  std::string render(const std::vector<std::pair<std::string, Value>>& names, int64_t now = -1,
                     const Limits& limits = {}) const;
};

}  // namespace dyadic::inline v1::text::jinja
