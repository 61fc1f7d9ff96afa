// The answer of a study, and its reasons in plain sentences.
#include "study/recommend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/measure.h"
#include "study/numbers.h"

namespace dyadic::inline v1::study {

namespace {
// Formats are measured on the weights of one run, and weights of another seed lose more or less: near the tolerance, up to 1.8
// times as much, and where few bits make a difference by chance, that can be a gain here and a loss there. So a format has to
// keep half of what is allowed, its gain counts as none, and its error twice: of the cheapest of many, luck is likely.
constexpr double kOfOneRun = 0.5, kErrors = 2;
bool of_one_run(const StudyResult& s) { return !s.recipes.empty(); }
double share_allowed(const StudyResult& s, bool format) { return format && of_one_run(s) ? kOfOneRun : 1; }
double bound(const StudyResult& s, bool format, const LossDelta& d) {
  if (!format || !of_one_run(s)) return d.upper;
  return std::isfinite(d.se) ? std::max(d.upper, std::max(d.delta, 0.0) + kErrors * d.se) : std::max(d.upper, 0.0);
}

struct Candidate {
  std::string name;
  double cost = kUnknown;  // bytes, or seconds
  double delta = kUnknown, se = kUnknown, upper = kUnknown;
  double spread = kUnknown;  // of times, as a share; unknown of what was measured once
  double more = INFINITY;    // times as much to evaluate on (of_seeds: as many seeds) would show it near, if it stays as it is
  bool of_seeds = false;
  bool near = false;   // within what it may lose to be recommended
  bool close = false;  // within the tolerance, but not that
};

double cost_of(const RecipeResult& r, Minimize minimize) {
  if (minimize == Minimize::time) return r.step_ms / 1e3;
  return r.bytes.peak.measured ? double(*r.bytes.peak.measured) : kUnknown;
}
double cost_of(const FormatResult& f, Minimize minimize) {
  if (minimize == Minimize::time) return 1 / f.tokens_per_s;
  return f.bytes ? double(*f.bytes) : kUnknown;
}

double spread_of(const RecipeResult& r) { return r.turns > 1 ? r.step_spread : kUnknown; }
double spread_of(const FormatResult&) { return kUnknown; }

// Whether two times differ by more than what each spreads over, so that a ratio of them says something.
bool apart(double a, double a_spread, double b, double b_spread) {
  return std::fabs(a - b) > (a * a_spread + b * b_spread) / 2;  // false where one is not known
}

// Errors shrink with the root of what they are measured on.
double times_as_much(const StudyResult& s, bool format, const LossDelta& d) {
  const double lost = format && of_one_run(s) ? std::max(d.delta, 0.0) : d.delta;
  const double left = share_allowed(s, format) * allowed(s) - lost;
  return left > 0 ? std::pow((bound(s, format, d) - lost) / left, 2) : INFINITY;
}

template <class T> std::vector<Candidate> candidates(const std::vector<T>& results, const StudyResult& study) {
  std::vector<Candidate> list;
  for (const T& r : results) {
    if (r.status != Status::done) continue;
    const LossDelta& d = judged(study, r);
    constexpr bool format = std::is_same_v<T, FormatResult>;
    Candidate c{r.name, cost_of(r, study.options.minimize), d.delta, d.se, bound(study, format, d), spread_of(r)};
    c.near = r.name == "f32" || (format ? may_store(study, d) : within_tolerance(study, d));
    c.close = !c.near && within_tolerance(study, d);
    c.more = times_as_much(study, format, d), c.of_seeds = d.se_kind == "seed";
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
  const StudyResult& study;
  bool format;
  Minimize minimize = study.options.minimize;
  double share = share_allowed(study, format);
  std::string tolerance = tolerance_text(share * study.options.tolerance), name = judged_name(study);
  std::string cost(double c) const {
    if (minimize == Minimize::memory) return bytes_text(c);
    return format ? rate_text(study, 1 / c) : milliseconds_text(c * 1e3) + " ms per step";
  }
  std::string saving(const Candidate& f32, const Candidate& c) const {
    if (minimize == Minimize::time)
      return apart(f32.cost, f32.spread, c.cost, c.spread) ? fmt::format(" ({} the speed)", ratio_text(f32.cost / c.cost)) : "";
    return fmt::format(" ({:.0f} % {})", std::fabs(1 - c.cost / f32.cost) * 100, c.cost <= f32.cost ? "less" : "more");
  }
  const char* least() const {
    if (minimize == Minimize::memory) return format ? "takes the least memory" : "trains in the least memory";
    return format ? "evaluates fastest" : "trains fastest";
  }
};

std::string why_winner(const std::vector<Candidate>& list, const Candidate& best, const Candidate& f32, const Words& w) {
  const auto near = std::count_if(list.begin(), list.end(), [](const Candidate& c) { return c.near; });
  std::string text = near == 1 ? fmt::format("{} is the only {} within {} of f32's {}", best.name, w.thing, w.tolerance, w.name)
                               : fmt::format("{} {} of the {} {} within {} of f32's {}", best.name, w.least(), near, w.plural,
                                             w.tolerance, w.name);
  text += fmt::format(": {}", w.cost(best.cost));
  if (best.name == "f32") return text + ".";
  if (f32.cost > 0) text += fmt::format(" against {} for f32{}", w.cost(f32.cost), w.saving(f32, best));
  const std::string most = loss_text(w.share * allowed(w.study));
  if (!std::isfinite(best.se))
    return text + fmt::format(
                      ". It changes the {} by {}{}, and {} may be lost; the error of that is not known, since there is "
                      "one number for each {}.",
                      full_name(w.study), change_text(w.study, best.delta), unit_text(w.study), most, w.thing);
  text += fmt::format(". It changes the {} by {} \u00b1 {}{}; ", full_name(w.study), change_text(w.study, best.delta),
                      error_text(best.se), unit_text(w.study));
  if (w.format && of_one_run(w.study))
    return text + fmt::format("with twice that error, and without what is gained, it loses less than {}, and {} is allowed.",
                              loss_text(best.upper), most);
  text += "with 95 % confidence ";
  text += best.upper > 0 ? fmt::format("it loses less than {}, and {} is allowed.", loss_text(best.upper), most)
                         : fmt::format("it loses nothing, and {} would be allowed.", most);
  return text;
}

// Of many the five that cost least, and how many more.
class Some {
  std::vector<std::pair<double, std::string>> all_;
  Candidate soonest_;  // shown by the least more

 public:
  void add(const Candidate& c, std::string text) {
    all_.emplace_back(c.cost, std::move(text));
    if (c.more < soonest_.more) soonest_ = c;
  }
  // Beyond a hundred times nobody will.
  std::string what_would_tell() const {
    if (!(soonest_.more < 100)) return ".";
    return fmt::format(". About {} as {} would tell of {}.", ratio_text(soonest_.more),
                       soonest_.of_seeds ? "many seeds" : "much to evaluate on", soonest_.name);
  }
  // "" of none.
  std::string sentence(std::string_view begin, std::string_view end = ".") const {
    constexpr size_t kAll = 7, kFew = 5;
    std::vector<std::pair<double, std::string>> shown = all_;
    if (shown.size() > kAll) {
      std::stable_sort(shown.begin(), shown.end(), [](auto& a, auto& b) { return a.first < b.first; });
      shown.resize(kFew);
    }
    std::string text;
    for (auto& [cost, one] : shown) text += (text.empty() ? "" : ", ") + one;
    if (shown.size() < all_.size()) text += fmt::format(" and {} more", all_.size() - shown.size());
    return text.empty() ? "" : fmt::format(" {}{}{}", begin, text, end);
  }
};

// The cheaper ones that lost, with the reason: the near misses are what a reader asks about next.
std::string why_not(const std::vector<Candidate>& list, const Candidate& best, const Words& w) {
  Some close, lossy, unsure, unknown;
  for (const Candidate& c : list) {
    if (c.near || !(c.cost < best.cost)) continue;
    const bool known = std::isfinite(c.upper);
    Some& to = !known ? unknown : c.close ? close : c.delta <= allowed(w.study) ? unsure : lossy;
    to.add(c, !known ? c.name
                     : fmt::format("{} ({}, {} \u00b1 {})", c.name, w.cost(c.cost), change_text(w.study, c.delta),
                                   error_text(c.se)));
  }
  return close.sentence(
             fmt::format("Cheaper, and within {} on these weights, but not by what weights of other seeds may need: ",
                         tolerance_text(w.study.options.tolerance)),
             close.what_would_tell()) +
         lossy.sentence("Cheaper, but beyond the tolerance: ") +
         unsure.sentence("Cheaper and perhaps within it, but measured too coarsely to say so: ", unsure.what_would_tell()) +
         unknown.sentence(fmt::format("Cheaper, but of unknown {}: ", w.name));
}

template <class T> std::string decide(const std::vector<T>& results, const Words& words, std::string& why) {
  if (results.empty()) return "";
  const StudyResult& study = words.study;
  const std::vector<Candidate> list = candidates(results, study);
  const auto reference = std::find_if(list.begin(), list.end(), [](const Candidate& c) { return c.name == "f32"; });
  const Candidate f32 = reference == list.end() ? Candidate{"f32"} : *reference;
  const int best = choose(list, study.options.minimize);
  if (!why.empty()) why += "\n";
  if (best < 0) {
    why +=
        fmt::format("No {} within {} of f32's {} has a measured cost, so f32 stays.", words.thing, words.tolerance, words.name);
    return "f32";
  }
  const Candidate& winner = list[size_t(best)];
  const bool others_near = std::any_of(list.begin(), list.end(), [](const Candidate& c) { return c.near && c.name != "f32"; });
  if (winner.name == "f32" && !others_near && list.size() > 1) {
    const bool errors =
        std::any_of(list.begin(), list.end(), [](const Candidate& c) { return c.name != "f32" && std::isfinite(c.se); });
    why += fmt::format("Stay with f32: no other {} is{} within {} of its {} ({}{}).", words.thing,
                       errors ? ", with 95 % confidence," : "", words.tolerance, words.name,
                       loss_text(words.share * allowed(study)), unit_text(study));
  } else {
    why += why_winner(list, winner, f32, words);
  }
  why += why_not(list, winner, words);
  for (const T& r : results) {
    if (r.status == Status::stopped) why += fmt::format(" {} was stopped: its loss was not finite.", r.name);
    if (r.status == Status::failed) why += fmt::format(" {} ended in an error.", r.name);
  }
  return winner.name;
}
}  // namespace

bool within_tolerance(const StudyResult& study, const LossDelta& d) {
  return std::isfinite(d.upper) && d.upper <= allowed(study);
}
bool may_store(const StudyResult& study, const LossDelta& d) {
  return std::isfinite(d.upper) && bound(study, true, d) <= share_allowed(study, true) * allowed(study);
}

// Which modules stay in more bits, what that costs, what it saves.
static std::string mixed_words(const StudyResult& s) {
  if (!s.layers || !s.layers->bytes) return "";
  const Layers& l = *s.layers;
  const FormatResult* keep = s.format(l.keep);
  std::string names;
  for (const ModuleLoss& m : l.modules)
    if (m.kept) names += (names.empty() ? "" : ", ") + m.module;
  std::string text = fmt::format("\nMixed: {} with {} kept in {}", l.format, names, l.keep);
  if (keep && keep->bytes && *keep->bytes > 0)
    text += fmt::format(" takes {} against {} for {} alone ({:.0f} % less)", bytes_text(l.bytes), bytes_text(keep->bytes),
                        l.keep, 100 - 100 * double(*l.bytes) / double(*keep->bytes));
  std::string others;
  for (auto& [format, bytes] : l.tried)
    if (bytes && format != l.format) others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", format, bytes_text(bytes));
  if (!others.empty()) text += ", and less than mixtures with " + others;
  return text + fmt::format(". It changes the {} by {} \u00b1 {}{}, which is within {}.", full_name(s),
                            change_text(s, l.vs_f32.delta), error_text(l.vs_f32.se), unit_text(s),
                            tolerance_text(s.options.tolerance));
}

Recommendation recommend(const StudyResult& study) {
  Recommendation r;
  const RecipeResult* f32 = study.recipe("f32");
  const bool known = f32 ? f32->status == Status::done : study.recipes.empty();
  if (!known || !std::isfinite(f32_value(study))) {
    const FormatResult* plain = study.format("f32");
    const bool judged_it = f32 ? f32->status == Status::done : plain && plain->status == Status::done;
    r.why = f32 && f32->status == Status::stopped ? "No recommendation: f32, the reference, did not keep a finite loss."
            : judged_it ? fmt::format("No recommendation: the {} of f32, the reference, is not finite.", full_name(study))
                        : "No recommendation yet: f32, the reference, is not done.";
    return r;
  }
  r.recipe = decide(study.recipes, {"recipe", "recipes", study, false}, r.why);
  r.format = r.uniform = decide(study.formats, {"format", "formats", study, true}, r.why);
  if (const FormatResult* f = study.format(r.format)) r.bytes = f->bytes;
  if (study.layers && study.layers->bytes) {
    r.format = study.layers->format, r.bytes = study.layers->bytes;
    for (const ModuleLoss& m : study.layers->modules)
      if (m.kept) r.modules.emplace_back(m.module, study.layers->keep);
  }
  r.why += mixed_words(study);
  std::string limits;
  const auto add = [&](const char* text) { limits += (limits.empty() ? "\n" : " ") + std::string(text); };
  if (!study.formats.empty() && !f32) add("That is promised of these weights; others may lose more.");
  if (!r.uniform.empty() && r.uniform != "f32" && f32)
    add("Formats were measured on the weights that the f32 recipe trained with the first seed; the recommended one is meant "
        "for "
        "this training, whatever its seed, which is why it has to lose clearly less than the tolerance.");
  if (f32 && study.options.seeds < 2) {
    add(is_text(study) ? "One seed: the errors cover the choice of validation text, not the chance of initial weights and "
                         "batches; --seeds 3 measures that too."
                       : "One seed: the errors cover the choice of samples, not the chance of initial weights and batches; "
                         "three seeds measure that too.");
  }
  if (!study.complete) add("The study was interrupted: only what was done by then is compared.");
  r.why += limits;
  return r;
}

namespace {
std::string loss_words(const StudyResult& s, const LossDelta& d) {
  if (d.delta <= 0) return s.measure.metric.empty() ? "at no loss" : "at no loss of " + s.measure.metric;
  return fmt::format("for {}{} ({}) {} {}", error_text(d.delta), unit_text(s), percent_text(d.delta / std::fabs(f32_value(s))),
                     !s.measure.metric.empty() && s.measure.larger ? "less" : "more", judged_name(s));
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
  if (apart(r.step_ms, spread_of(r), f32.step_ms, spread_of(f32))) {
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
  const FormatResult *plain = study.format("f32"), *format = study.format(why.uniform);
  if (!recipe && !study.recipes.empty()) return "There is no recommendation yet.";
  std::string text;
  if (recipe && recipe == f32) {
    text = fmt::format("Train in f32: no recipe that takes less {} is sure to stay within {} of its {}",
                       minimize_name(study.options.minimize), tolerance_text(study.options.tolerance), judged_name(study));
  } else if (recipe && f32) {
    text = fmt::format("Train with {}: {} {}", recipe->name, recipe_words(*recipe, *f32),
                       loss_words(study, judged(study, *recipe)));
  }
  if (!text.empty()) text += format ? ". " : ".";
  if (!format) return text.empty() ? "There is no recommendation yet." : text;
  if (study.layers && study.layers->bytes && plain && plain->bytes) {
    const Layers& l = *study.layers;
    const auto kept = std::count_if(l.modules.begin(), l.modules.end(), [](const ModuleLoss& m) { return m.kept; });
    return text + fmt::format("Store the weights as {}, {} of {} modules as {}: {} smaller {}.", l.format, kept,
                              l.modules.size(), l.keep, ratio_text(double(*plain->bytes) / double(*l.bytes)),
                              loss_words(study, l.vs_f32));
  }
  if (format->name == "f32" || !plain) return text + "Keep the weights in f32.";
  text += fmt::format("Store the weights as {}: ", format->name);
  if (format->bytes && plain->bytes && *format->bytes > 0) {
    text += fmt::format("{} smaller ", ratio_text(double(*plain->bytes) / double(*format->bytes)));
  }
  return text + loss_words(study, judged(study, *format)) + ".";
}

}  // namespace dyadic::inline v1::study
