#include "cli/plan_model.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "cli/json.h"
#include "device/limit.h"
#include "dyadic/model_plan.h"

namespace dyadic::inline v1::cli {
namespace {

using tune::ModelUse;

Json document(const ModelUse& u) {
  return {{"what", u.what},
          {"format", u.format.name()},
          {"fits", u.fits},
          {"again", u.again},
          {"on_disk", u.on_disk},
          {"bytes", {{"weights", u.weights}, {"cache", u.cache}, {"training", u.training}, {"peak", u.peak}}}};
}

// The first that fits, in the formats' order; else the one that reads the fewest weights from disk, or takes least.
std::string verdict(const std::vector<ModelUse>& uses, const std::string& what, int64_t limit) {
  std::vector<const ModelUse*> all, reading;
  for (const ModelUse& u : uses)
    if (u.what == what) {
      all.push_back(&u);
      if (u.on_disk) reading.push_back(&u);
    }
  if (all.empty()) return "";
  if (const auto fits = std::ranges::find_if(all, &ModelUse::fits); fits != all.end())
    return fmt::format("{}: {} is the first that fits into {}, {} at the peak\n", what, (*fits)->format.name(),
                       human_bytes(limit), human_bytes((*fits)->peak));
  if (const auto again = std::ranges::find_if(all, &ModelUse::again); again != all.end())
    return fmt::format("{}: {} is the first that fits into {}, with calls of forward made again in backward\n", what,
                       (*again)->format.name(), human_bytes(limit));
  if (!reading.empty()) {
    const ModelUse& fewest = **std::ranges::min_element(reading, {}, &ModelUse::on_disk);
    return fmt::format("{}: nothing fits into {} whole; of {} {} would stay on disk, read {}\n", what, human_bytes(limit),
                       fewest.format.name(), human_bytes(fewest.on_disk),
                       what == "generate" ? "for every token" : "twice in every step");
  }
  const ModelUse& least = **std::ranges::min_element(all, {}, &ModelUse::peak);
  return fmt::format(
      "{}: nothing fits into {}; {} takes the least, {}: a shorter --context, a smaller --batch, or other --format\n", what,
      human_bytes(limit), least.format.name(), human_bytes(least.peak));
}

}  // namespace

int plan_model(const ModelPlan& p, const Common& common) {
  const int64_t limit = memory_limit();
  const WithoutLimit planning;
  tune::ModelPlanOptions o{.context = p.context, .batch = p.batch};
  for (const std::string& f : p.formats) o.formats.push_back(DType::parse(f));
  if (!p.kv.empty()) o.kv = models::KvFormats::parse(p.kv);
  o.lora = p.lora == "none" ? std::nullopt : std::optional(tune::parse_lora(p.lora.empty() ? "rank=16" : p.lora));
  const std::vector<ModelUse> uses = tune::plan_model(models::config_json(p.model), o, limit);
  const bool fits = std::ranges::any_of(uses, [](const ModelUse& u) { return u.fits || u.again || u.on_disk; });
  if (common.json) {
    Json all = Json::array();
    for (const ModelUse& u : uses) all.push_back(document(u));
    print(
        json_text({{"model", p.model}, {"memory_limit", limit ? Json(limit) : Json(nullptr)}, {"fits", fits}, {"uses", all}}));
    return fits ? kDone : kFailed;
  }
  Table table({"use", "weights in", "weights", "keys, values", "training", "peak", limit ? "fits" : ""},
              {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (const ModelUse& u : uses)
    table.row({u.what, u.format.name(), human_bytes(u.weights), u.cache ? human_bytes(u.cache) : "",
               u.training ? human_bytes(u.training) : "", human_bytes(u.peak),
               !limit      ? ""
               : u.fits    ? "yes"
               : u.again   ? "with calls again"
               : u.on_disk ? human_bytes(u.on_disk) + " on disk"
                           : "no"});
  std::string text = table.str();
  if (limit) text += "\n" + verdict(uses, "generate", limit) + verdict(uses, "finetune", limit);
  print(text);
  return fits ? kDone : kFailed;
}

}  // namespace dyadic::inline v1::cli
