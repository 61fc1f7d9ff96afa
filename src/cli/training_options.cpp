#include "cli/training_options.h"

#include "study/memory_plan.h"

namespace dyadic::inline v1::cli {

void add_setting(Options& options, const study::Setting& s) {
  std::visit(
      [&](auto* field) {
        using T = std::decay_t<decltype(*field)>;
        Check check = between(s.least, s.most);
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, std::optional<int64_t>>)
          check = [low = int64_t(s.least), high = s.most](const std::string& text) {
            at_least(low)(text);
            between(double(low), high)(text);
          };
        options.value((std::string("--") + s.name).c_str(), *field, s.shown, s.doc, std::is_same_v<T, bool> ? Check() : check);
      },
      s.field);
}

void check_allowed(const std::string& name) { study::Allowed::parse({name}); }

}  // namespace dyadic::inline v1::cli
