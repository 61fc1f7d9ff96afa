// The answer of a study, and its reasons in plain sentences.
#include "study/recommend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/numbers.h"

namespace dyadic::inline v1::study {

namespace {
struct Candidate {
  std::string name;
  double cost = kUnknown;  // bytes, or seconds
  double delta = kUnknown, se = kUnknown, upper = kUnknown;
  bool near = false;  // within the tolerance
};

Candidate candidate(const RecipeResult& r, Minimize minimize) {
  const double cost = minimize == Minimize::time ? r.step_ms / 1e3
                      : r.bytes.peak.measured    ? double(*r.bytes.peak.measured)
                                                 : kUnknown;
  return {r.name, cost, r.vs_f32.delta, r.vs_f32.se, r.vs_f32.upper};
}
Candidate candidate(const FormatResult& f, Minimize minimize) {
  const double cost = minimize == Minimize::time ? 1 / f.tokens_per_s : f.bytes ? double(*f.bytes) : kUnknown;
  return {f.name, cost, f.vs_f32.delta, f.vs_f32.se, f.vs_f32.upper};
}

template <class T> std::vector<Candidate> candidates(const std::vector<T>& results, const StudyResult& study, double f32_loss) {
  std::vector<Candidate> list;
  for (const T& r : results) {
    if (r.status != Status::done) continue;
    Candidate c = candidate(r, study.options.minimize);
    c.near = r.name == "f32" || within_tolerance(r.vs_f32, f32_loss, study.options.tolerance);
    list.push_back(c);
  }
  return list;
}

// Index of the winner; -1: none is near with a known cost.
int choose(const std::vector<Candidate>& list, Minimize minimize) {
  double least = INFINITY;
  for (const Candidate& c : list)
    if (c.near && c.cost < least) least = c.cost;
  const double tie = least * (minimize == Minimize::time ? 1.02 : 1.001);
  int best = -1;
  for (int i = 0; i < int(list.size()); ++i) {
    const Candidate& c = list[size_t(i)];
    if (c.near && c.cost <= tie && (best < 0 || c.delta < list[size_t(best)].delta)) best = i;
  }
  return best;
}

struct Words {
  const char *thing, *plural;
  Minimize minimize;
  bool format;
  std::string cost(double c) const {
    if (minimize == Minimize::memory) return bytes_text(c);
    return format ? quantity_text(1 / c) + " tokens/s" : milliseconds_text(c * 1e3) + " ms per step";
  }
  std::string saving(double f32, double cost) const {
    if (minimize == Minimize::time) return fmt::format("{} the speed", ratio_text(f32 / cost));
    return fmt::format("{:.0f} % {}", std::fabs(1 - cost / f32) * 100, cost <= f32 ? "less" : "more");
  }
  const char* least() const {
    if (minimize == Minimize::memory) return format ? "takes the least memory" : "trains in the least memory";
    return format ? "evaluates fastest" : "trains fastest";
  }
};

std::string why_winner(const std::vector<Candidate>& list, const Candidate& best, const Candidate& f32, double allowed,
                       double tolerance, const Words& w) {
  const auto near = std::count_if(list.begin(), list.end(), [](const Candidate& c) { return c.near; });
  std::string text =
      near == 1 ? fmt::format("{} is the only {} within {} of f32's loss", best.name, w.thing, tolerance_text(tolerance))
                : fmt::format("{} {} of the {} {} within {} of f32's loss", best.name, w.least(), near, w.plural,
                              tolerance_text(tolerance));
  text += fmt::format(": {}", w.cost(best.cost));
  if (best.name == "f32") return text + ".";
  if (f32.cost > 0) text += fmt::format(" against {} for f32 ({})", w.cost(f32.cost), w.saving(f32.cost, best.cost));
  text += fmt::format(". It changes the validation loss by {} \u00b1 {} nats; with 95 % confidence ", delta_text(best.delta),
                      error_text(best.se));
  text += best.upper > 0 ? fmt::format("it loses less than {}, and {} is allowed.", loss_text(best.upper), loss_text(allowed))
                         : fmt::format("it loses nothing, and {} would be allowed.", loss_text(allowed));
  return text;
}

// The cheaper ones that lost, with the reason: the near misses are what a reader asks about next.
std::string why_not(const std::vector<Candidate>& list, const Candidate& best, double allowed, const Words& w) {
  std::string lossy, unsure, unknown;
  const auto add = [](std::string& to, const std::string& text) { to += (to.empty() ? "" : ", ") + text; };
  for (const Candidate& c : list) {
    if (c.near || !(c.cost < best.cost)) continue;
    const std::string figures =
        fmt::format("{} ({}, {} \u00b1 {})", c.name, w.cost(c.cost), delta_text(c.delta), error_text(c.se));
    add(!std::isfinite(c.upper) ? unknown : c.delta <= allowed ? unsure : lossy, std::isfinite(c.upper) ? figures : c.name);
  }
  std::string text;
  if (!lossy.empty()) text += fmt::format(" Cheaper, but beyond the tolerance: {}.", lossy);
  if (!unsure.empty()) text += fmt::format(" Cheaper and perhaps within it, but measured too coarsely to say so: {}.", unsure);
  if (!unknown.empty()) text += fmt::format(" Cheaper, but of unknown loss: {}.", unknown);
  return text;
}

template <class T>
std::string decide(const std::vector<T>& results, const StudyResult& study, double f32_loss, const Words& words,
                   std::string& why) {
  if (results.empty()) return "";
  const double tolerance = study.options.tolerance, allowed = tolerance * f32_loss;
  const std::vector<Candidate> list = candidates(results, study, f32_loss);
  const auto reference = std::find_if(list.begin(), list.end(), [](const Candidate& c) { return c.name == "f32"; });
  const Candidate f32 = reference == list.end() ? Candidate{"f32"} : *reference;
  const int best = choose(list, study.options.minimize);
  if (!why.empty()) why += "\n";
  if (best < 0) {
    why +=
        fmt::format("No {} within {} of f32's loss has a measured cost, so f32 stays.", words.thing, tolerance_text(tolerance));
    return "f32";
  }
  const Candidate& winner = list[size_t(best)];
  const bool others_near = std::any_of(list.begin(), list.end(), [](const Candidate& c) { return c.near && c.name != "f32"; });
  if (winner.name == "f32" && !others_near && list.size() > 1) {
    why += fmt::format("Stay with f32: no other {} is, with 95 % confidence, within {} of its loss ({} nats).", words.thing,
                       tolerance_text(tolerance), loss_text(allowed));
  } else {
    why += why_winner(list, winner, f32, allowed, tolerance, words);
  }
  why += why_not(list, winner, allowed, words);
  for (const T& r : results) {
    if (r.status == Status::stopped) why += fmt::format(" {} was stopped: its loss was not finite.", r.name);
  }
  return winner.name;
}
}  // namespace

bool within_tolerance(const LossDelta& d, double f32_loss, double tolerance) {
  return std::isfinite(d.upper) && d.upper <= tolerance * f32_loss;
}

Recommendation recommend(const StudyResult& study) {
  Recommendation r;
  const RecipeResult* f32 = study.recipe("f32");
  if (!f32 || f32->status != Status::done || !std::isfinite(f32->val_loss)) {
    r.why = f32 && f32->status == Status::stopped ? "No recommendation: f32, the reference, did not keep a finite loss."
                                                  : "No recommendation yet: f32, the reference, is not done.";
    return r;
  }
  const Minimize m = study.options.minimize;
  r.recipe = decide(study.recipes, study, f32->val_loss, {"recipe", "recipes", m, false}, r.why);
  r.format = decide(study.formats, study, f32->val_loss, {"format", "formats", m, true}, r.why);
  std::string limits;
  const auto add = [&](const char* text) { limits += (limits.empty() ? "\n" : " ") + std::string(text); };
  if (!r.format.empty() && r.format != "f32" && r.recipe != "f32")
    add("Formats were measured on the weights that the f32 recipe trained.");
  if (study.options.seeds < 2) {
    add("One seed: the errors cover the choice of validation text, not the chance of initial weights and batches; --seeds 3 "
        "measures "
        "that too.");
  }
  if (!study.complete) add("The study was interrupted: only what was done by then is compared.");
  r.why += limits;
  return r;
}

namespace {
std::string loss_words(const LossDelta& d, double f32_loss) {
  if (d.delta <= 0) return "at no loss";
  return fmt::format("for {} nats ({}) more loss", loss_text(d.delta), percent_text(d.delta / f32_loss));
}

std::string saved(double f32, double other, const char* less, const char* more) {
  const double share = 1 - other / f32;
  return share >= 0 ? fmt::format("{:.0f} % {}", share * 100, less) : fmt::format("{:.0f} % {}", -share * 100, more);
}

std::string recipe_words(const RecipeResult& r, const RecipeResult& f32) {
  std::string text;
  if (r.bytes.peak.measured && f32.bytes.peak.measured && *f32.bytes.peak.measured > 0) {
    text = saved(double(*f32.bytes.peak.measured), double(*r.bytes.peak.measured), "less memory", "more memory");
  }
  if (r.step_ms > 0 && f32.step_ms > 0) {
    const double speed = f32.step_ms / r.step_ms;
    if (!text.empty()) text += " and ";
    text += speed >= 1 ? fmt::format("{} the speed", ratio_text(speed))
                       : fmt::format("{:.0f} % slower steps", (1 / speed - 1) * 100);
  }
  return text;
}
}  // namespace

std::string headline(const StudyResult& study) {
  const Recommendation& why = study.recommendation;
  const RecipeResult *f32 = study.recipe("f32"), *recipe = study.recipe(why.recipe);
  const FormatResult *plain = study.format("f32"), *format = study.format(why.format);
  if (!recipe || !f32) return "There is no recommendation yet.";
  std::string text;
  if (recipe == f32) {
    text = fmt::format("Train in f32: no recipe that takes less {} stays within {} of its loss",
                       minimize_name(study.options.minimize), tolerance_text(study.options.tolerance));
  } else {
    text = fmt::format("Train with {}: {} {}", recipe->name, recipe_words(*recipe, *f32),
                       loss_words(recipe->vs_f32, f32->val_loss));
  }
  if (!format) return text + ".";
  if (format->name == "f32" || !plain) return text + ". Keep the weights in f32.";
  text += fmt::format(". Store the weights as {}: ", format->name);
  if (format->bytes && plain->bytes && *format->bytes > 0) {
    text += fmt::format("{} smaller ", ratio_text(double(*plain->bytes) / double(*format->bytes)));
  }
  return text + loss_words(format->vs_f32, f32->val_loss) + ".";
}

}  // namespace dyadic::inline v1::study
