#include "study/request.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/limit.h"
#include "study/recipe_apply.h"

namespace dyadic::inline v1::study {

namespace {

bool same(const Recipe& a, const Recipe& b) {  // but for what they are called
  return a.parameters == b.parameters && a.compute == b.compute && a.scaler == b.scaler && a.rounding == b.rounding &&
         a.states == b.states && a.modules == b.modules;
}
const Recipe* called(const std::vector<Recipe>& all, const std::string& name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Recipe& r) { return r.name == name; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

// Names are given first, then made: of those that are made the later one of two is numbered.
std::vector<Recipe> named_recipes(std::vector<Recipe> all) {
  std::vector<Recipe> named{recipe("f32")};
  for (const Recipe& r : all) {
    check_recipe(r);
    if (r.name.empty()) continue;
    DY_CHECK_AS(ValueError, r.name.find('/') == r.name.npos, "recipe {}: its files bear its name, which so has no /", r.name);
    const Recipe* other = called(named, r.name);
    DY_CHECK_AS(ValueError, !other || same(*other, r), "study: two recipes are called {}{}; call one something else", r.name,
                r.name == "f32" ? ", which is the reference" : " and differ");
    if (!other) named.push_back(r);
  }
  for (Recipe& r : all) {
    if (!r.name.empty()) continue;
    const std::string made = recipe_name(r);
    r.name = made;
    for (int k = 2;; ++k) {
      const Recipe* other = called(named, r.name);
      if (!other) named.push_back(r);
      if (!other || same(*other, r)) break;
      r.name = made + "-" + std::to_string(k);
    }
  }
  return all;
}

std::vector<Recipe> chosen_recipes(const StudyRequest& q) {
  std::vector<Recipe> chosen{recipe("f32")};  // always, as the reference
  for (Recipe& r : named_recipes(q.recipes.empty() ? recipes() : q.recipes))
    if (!called(chosen, r.name)) chosen.push_back(std::move(r));
  return chosen;
}

std::string option(const StudyRequest& q, const char* name) { return (q.command.empty() ? "" : "--") + std::string(name); }

void check_tolerance(const char* who, const std::string& name, double tolerance) {
  DY_CHECK_AS(ValueError, tolerance >= 0 && std::isfinite(tolerance), "{}: {} is {}; a share such as 1% or 0.01", who, name,
              tolerance);
}

void check_request(const StudyRequest& q) {
  DY_CHECK_AS(ValueError, q.seeds >= 1 && q.seeds <= 100, "study: {} is {}; from 1 to 100", option(q, "seeds"), q.seeds);
  check_tolerance("study", option(q, "tolerance"), q.tolerance);
  DY_CHECK_AS(ValueError, !q.time_s || (*q.time_s > 0 && std::isfinite(*q.time_s)), "study: {} is {}; seconds, above 0",
              option(q, "time"), q.time_s.value_or(0));
  DY_CHECK_AS(ValueError, q.plan.clip >= 0, "study: clip is {}; the largest norm of all gradients, at least 0", q.plan.clip);
  DY_CHECK_AS(ValueError, !q.shadow || !memory_limit(),
              "study: {} compares with wider results, for which no memory is planned; leave it or the memory limit out",
              option(q, "shadow"));
  DY_CHECK_AS(ValueError, q.steps.value_or(1) >= 1, "study: {} is {}; at least 1", option(q, "steps"), q.steps.value_or(0));
}

}  // namespace dyadic::inline v1::study
