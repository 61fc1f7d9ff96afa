// report.json, written. Reading is report_json_read.cpp.
#include "study/report_json.h"

#include <cmath>

#include "base/json.h"
#include "study/report_version.h"

namespace dyadic::inline v1::study {

namespace {
using Json = nlohmann::ordered_json;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
Json count(const Count& n) { return n ? Json(*n) : Json(nullptr); }
Json text_or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }
Json amount(const Amount& a) { return {{"predicted", count(a.predicted)}, {"measured", count(a.measured)}}; }

void add_delta(Json& j, const LossDelta& d, const std::string& name = "val_loss_delta") {
  j[name] = number(d.delta);
  j[name + "_se"] = number(d.se);
  j[name + "_se_kind"] = text_or_null(d.se_kind);
  j[name + "_upper95"] = number(d.upper);
  j[name + "_se_parts"] = {{"token", number(d.se_token)}, {"window", number(d.se_window)}, {"seed", number(d.se_seed)}};
}

// Where the study has one. Of the difference, what is lost is above zero.
void add_metric(Json& j, bool has, double value, const LossDelta& d) {
  if (!has) return;
  j["metric"] = number(value);
  add_delta(j, d, "metric_lost");
}

Json curve_json(const std::vector<CurvePoint>& curve) {
  Json list = Json::array();
  for (const CurvePoint& p : curve) {
    list.push_back({{"step", p.step}, {"train_loss", number(p.train_loss)}, {"val_loss", number(p.val_loss)}});
  }
  return list;
}

Json rounding_json(const std::vector<RoundingEvents>& events) {
  Json list = Json::array();
  for (const RoundingEvents& e : events) {
    list.push_back(
        {{"op", e.op}, {"module", e.module}, {"dtype", e.dtype}, {"overflows", e.overflows}, {"flushed", e.flushed}});
  }
  return list;
}

Json calls_json(const std::vector<DtypeCalls>& calls) {
  Json object = Json::object();
  for (const DtypeCalls& c : calls) object[c.op][c.dtype] = c.calls;
  return object;
}

// The error follows from the sums, which a study that goes on adds to.
Json modules_json(const std::vector<ModuleRounding>& modules) {
  Json all = Json::array();
  for (const ModuleRounding& m : modules)
    all.push_back({{"module", m.module},
                   {"error", number(m.error())},
                   {"elements", m.elements},
                   {"overflows", m.overflows},
                   {"flushed", m.flushed},
                   {"squared", number(m.squared)},
                   {"squared_difference", number(m.squared_difference)},
                   {"updates", m.updates},
                   {"lost_updates", m.lost_updates}});
  return all;
}

Json fields_json(const RecipeFields& f) {
  Json modules = Json::object();
  for (auto& [pattern, dtype] : f.modules) modules[pattern] = dtype;
  return {{"parameters", f.parameters}, {"compute", text_or_null(f.compute)}, {"states", f.states}, {"rounding", f.rounding},
          {"scaler", f.scaler},         {"modules", std::move(modules)}};
}

Json recipe_json(const RecipeResult& r, bool metric) {
  Json j;
  j["name"] = r.name;
  j["doc"] = r.doc;
  j["recipe"] = fields_json(r.fields);
  j["status"] = status_name(r.status);
  j["error"] = text_or_null(r.error);
  j["weights_sha256"] = text_or_null(r.weights_sha256);
  j["steps"] = r.steps;
  j["val_loss"] = number(r.val_loss);
  j["val_loss_se"] = number(r.val_loss_se);
  add_delta(j, r.vs_f32);
  add_metric(j, metric, r.metric, r.metric_vs_f32);
  j["seed_val_losses"] = Json::array();
  for (double loss : r.seed_val_losses) j["seed_val_losses"].push_back(number(loss));
  j["step_ms"] = number(r.step_ms);
  j["step_spread"] = number(r.step_spread);
  j["turns"] = r.turns;
  j["sampling"] = number(r.sampling);
  j["tokens_per_s"] = number(r.tokens_per_s);
  j["flops_per_s"] = number(r.flops_per_s);
  j["mfu"] = number(r.mfu);
  j["flops_peak"] = number(r.flops_peak);
  const Bytes& b = r.bytes;
  j["bytes"] = {{"parameters", amount(b.parameters)},   {"gradients", amount(b.gradients)}, {"optimizer", amount(b.optimizer)},
                {"activations", amount(b.activations)}, {"workspace", amount(b.workspace)}, {"peak", amount(b.peak)}};
  j["bytes_other"] = {{"temporary", amount(b.temporary)}, {"data", amount(b.data)}};
  j["resident_peak"] = count(r.resident_peak);
  j["skipped_steps"] = count(r.skipped_steps);
  j["lost_updates"] = number(r.lost_updates);
  j["overflows"] = count(r.overflows);
  j["flushed"] = count(r.flushed);
  j["sampled_steps"] = r.sampled_steps;
  j["rounding"] = rounding_json(r.rounding);
  j["modules"] = modules_json(r.modules);
  j["dtype_calls"] = calls_json(r.dtype_calls);
  j["nan"] = r.nan ? Json{{"op", r.nan->op}, {"module", r.nan->module}, {"step", r.nan->step}} : Json(nullptr);
  j["curve"] = curve_json(r.curve);
  return j;
}

Json format_json(const FormatResult& f, bool metric) {
  Json j;
  j["name"] = f.name;
  j["status"] = status_name(f.status);
  j["error"] = text_or_null(f.error);
  j["bits_per_weight"] = number(f.bits_per_weight);
  j["bytes"] = count(f.bytes);
  j["val_loss"] = number(f.val_loss);
  add_delta(j, f.vs_f32);
  add_metric(j, metric, f.metric, f.metric_vs_f32);
  j["kl"] = number(f.kl);
  j["kl_se"] = number(f.kl_se);
  j["top1_agreement"] = number(f.top1_agreement);
  j["tokens_per_s"] = number(f.tokens_per_s);
  j["workspace"] = count(f.workspace);
  return j;
}

// Where a format's loss comes from; of the differences, what is lost is above zero.
Json layers_json(const Layers& l) {
  Json modules = Json::array();
  for (const ModuleLoss& m : l.modules) {
    Json j = {{"module", m.module}, {"bytes", m.bytes}, {"stored_bytes", m.stored_bytes}};
    add_delta(j, m.alone, "alone");
    add_delta(j, m.spared, "spared");
    j["kept"] = m.kept;
    modules.push_back(std::move(j));
  }
  Json mixed = {{"bytes", count(l.bytes)}, {"value", number(l.value)}};
  add_delta(mixed, l.vs_f32, "lost");
  Json tried = Json::array();
  for (auto& [format, bytes] : l.tried) tried.push_back({{"format", format}, {"bytes", count(bytes)}});
  return {{"format", l.format},
          {"keep", l.keep},
          {"modules", std::move(modules)},
          {"mixed", std::move(mixed)},
          {"tried", std::move(tried)}};
}

Json machine_json(const Machine& m) {
  return {{"cpu", m.cpu},
          {"cores", m.cores},
          {"threads", m.threads},
          {"isa", m.isa},
          {"memory", count(m.memory)},
          {"os", m.os},
          {"compiler", m.compiler},
          {"flops_peak", number(m.flops_peak)},
          {"flops_peak_bf16", number(m.flops_peak_bf16)},
          {"bytes_per_s_peak", number(m.bytes_per_s_peak)}};
}

Json corpus_json(const CorpusInfo& c) {
  Json files = Json::array();
  for (const CorpusFile& f : c.files) files.push_back({{"path", f.path}, {"bytes", f.bytes}});
  return {{"source", c.source},
          {"tokens", c.tokens},
          {"bytes", c.bytes},
          {"sha256", c.sha256},
          {"unigram_nats", number(c.unigram_nats)},
          {"unigram_token_nats", number(c.unigram_token_nats)},
          {"vocabulary", c.vocabulary},
          {"train_tokens", c.train_tokens},
          {"val_tokens", c.val_tokens},
          {"files", files},
          {"notes", c.notes}};
}

Json model_json(const StudyResult& s) {
  const ModelInfo& m = s.model;
  return {{"preset", m.preset},
          {"layers", m.layers},
          {"heads", m.heads},
          {"width", m.width},
          {"block", m.block},
          {"batch", m.batch},
          {"vocabulary", m.vocabulary},
          {"parameters", m.parameters},
          {"flops_per_step", number(m.flops_per_step)},
          {"notes", s.notes}};
}

Json own_model_json(const StudyResult& s) {
  const Measure& m = s.measure;
  return {{"name", s.model.preset},
          {"kind", s.model.kind},
          {"parameters", s.model.parameters},
          {"batch", s.model.batch},
          {"flops_per_step", number(s.model.flops_per_step)},
          {"training", s.training},
          {"item", m.item},
          {"metric", text_or_null(m.metric)},
          {"metric_larger_is_better", m.larger},
          {"metric_is_root_of_mean", m.root},
          {"notes", s.notes}};
}

Json options_json(const Options& o) {
  return {{"recipes", o.recipes},
          {"formats", o.formats},
          {"steps", o.steps},
          {"time_s", o.time_s ? number(*o.time_s) : Json(nullptr)},
          {"seeds", o.seeds},
          {"seed", o.seed},
          {"tolerance", number(o.tolerance)},
          {"minimize", minimize_name(o.minimize)},
          {"clip", number(o.clip)},
          {"per_layer", o.per_layer},
          {"shadow", o.shadow}};
}
}  // namespace

std::string report_json(const StudyResult& result) {
  Json j;
  j["dyadic"] = result.version;
  j["report_version"] = kReportVersion;
  j["command"] = result.command;
  j["complete"] = result.complete;
  j["seconds"] = number(result.seconds);
  j["machine"] = machine_json(result.machine);
  if (result.model.kind.empty()) j["corpus"] = corpus_json(result.corpus);
  j["model"] = result.model.kind.empty() ? model_json(result) : own_model_json(result);
  j["options"] = options_json(result.options);
  j["identity"] = Json::object();
  for (auto& [name, value] : result.identity) j["identity"][name] = value;
  const bool metric = !result.measure.metric.empty();
  j["recipes"] = Json::array();
  for (const RecipeResult& r : result.recipes) j["recipes"].push_back(recipe_json(r, metric));
  j["formats"] = Json::array();
  for (const FormatResult& f : result.formats) j["formats"].push_back(format_json(f, metric));
  if (result.layers) j["layers"] = layers_json(*result.layers);
  const Recommendation& why = result.recommendation;
  Json kept = Json::object();
  for (auto& [module, format] : why.modules) kept[module] = format;
  j["recommendation"] = {{"recipe", text_or_null(why.recipe)}, {"format", text_or_null(why.format)},
                         {"modules", std::move(kept)},         {"uniform", text_or_null(why.uniform)},
                         {"bytes", count(why.bytes)},          {"why", why.why}};
  return dump_json(j, 1, NotUtf8::replaced) + "\n";
}

}  // namespace dyadic::inline v1::study
