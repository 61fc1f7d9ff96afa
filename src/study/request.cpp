#include "study/request.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/limit.h"
#include "study/recipe_apply.h"

namespace dyadic::inline v1::study {

std::vector<Recipe> chosen_recipes(const StudyRequest& q) {
  std::vector<Recipe> chosen{recipe("f32")};  // always, as the reference
  for (Recipe r : q.recipes.empty() ? recipes() : q.recipes) {
    check_recipe(r);
    r.name = recipe_name(r);
    if (std::none_of(chosen.begin(), chosen.end(), [&](const Recipe& c) { return c.name == r.name; })) chosen.push_back(r);
  }
  return chosen;
}

std::string option(const StudyRequest& q, const char* name) { return (q.command.empty() ? "" : "--") + std::string(name); }

void check_request(const StudyRequest& q) {
  DY_CHECK_AS(ValueError, q.seeds >= 1 && q.seeds <= 100, "study: {} is {}; from 1 to 100", option(q, "seeds"), q.seeds);
  DY_CHECK_AS(ValueError, q.tolerance >= 0 && std::isfinite(q.tolerance), "study: {} is {}; a share such as 1% or 0.01",
              option(q, "tolerance"), q.tolerance);
  DY_CHECK_AS(ValueError, !q.shadow || !memory_limit(),
              "study: {} compares with wider results, for which no memory is planned; leave it or the memory limit out",
              option(q, "shadow"));
  DY_CHECK_AS(ValueError, q.steps.value_or(1) >= 1, "study: {} is {}; at least 1", option(q, "steps"), q.steps.value_or(0));
}

}  // namespace dyadic::inline v1::study
