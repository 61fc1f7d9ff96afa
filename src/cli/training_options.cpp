#include "cli/training_options.h"

#include "dyadic/data_parallel.h"
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

void add_ranks(Options& options, int64_t& shards, std::string& spread, std::string& wire) {
  options
      .value("--shards", shards, "N",
             "cut each batch into N parts whose gradients are added in one order: the same bits on any number of ranks "
             "(default: 8 or the batch under mpirun, else none)",
             at_least(1))
      .value("--spread", spread, "WHAT",
             "what each rank has a part of alone: none, states (the optimizer's), gradients (and states), parameters (and "
             "both): the same bits (default: none)",
             [](const std::string& text) { distributed::parse_spread(text); })
      .value(
          "--wire", wire, "F",
          "what shards' gradients travel in: bf16, dynamic8 ...; what rounding loses comes with the next step (default: f32)",
          [](const std::string& text) { DType::parse(text); });
}

void check_allowed(const std::string& name) { study::Allowed::parse({name}); }

}  // namespace dyadic::inline v1::cli
