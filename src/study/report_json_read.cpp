// report.json, read back. Missing keys keep the struct's defaults, so that an older report reads; a key of the wrong type is an
// error that names it.
#include <cmath>

#include "base/check.h"
#include "base/json.h"
#include "study/report_json.h"
#include "study/report_version.h"

namespace dyadic::inline v1::study {

namespace {
using Json = nlohmann::ordered_json;

[[noreturn]] void bad(const std::string& what) {
  fail<ValueError>("report: {}; is this a report.json of dyadic study? Write it anew without --resume", what);
}

// An object and where it stands, for messages.
struct Reader {
  const Json& j;
  std::string where;

  Reader(const Json& json, std::string path) : j(json), where(std::move(path)) {
    if (!j.is_object()) bad(where + " is not an object");
  }
  const Json* find(const char* key) const {
    const auto it = j.find(key);
    return it == j.end() || it->is_null() ? nullptr : &*it;
  }
  [[noreturn]] void wrong(const char* key, const char* wanted) const { bad(where + "." + key + " is not " + wanted); }

  void get(const char* key, double& out) const {
    if (const Json* v = find(key)) {
      if (!v->is_number()) wrong(key, "a number");
      out = v->get<double>();
    }
  }
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  void get(const char* key, T& out) const {
    if (const Json* v = find(key)) {
      if (!v->is_number_integer()) wrong(key, "an integer");
      out = v->get<T>();
    }
  }
  void get(const char* key, bool& out) const {
    if (const Json* v = find(key)) {
      if (!v->is_boolean()) wrong(key, "true or false");
      out = v->get<bool>();
    }
  }
  void get(const char* key, std::string& out) const {
    if (const Json* v = find(key)) {
      if (!v->is_string()) wrong(key, "text");
      out = v->get<std::string>();
    }
  }
  template <class T> void get(const char* key, std::optional<T>& out) const {
    if (find(key)) get(key, out.emplace());
  }
  template <class F> void each(const char* key, F&& body) const {
    const Json* v = find(key);
    if (!v) return;
    if (!v->is_array()) wrong(key, "a list");
    size_t i = 0;
    for (const Json& element : *v) body(element, where + "." + key + "[" + std::to_string(i++) + "]");
  }
  template <class F> void object(const char* key, F&& body) const {
    if (const Json* v = find(key)) body(Reader(*v, where + "." + key));
  }
  void get(const char* key, std::vector<std::string>& out) const {
    each(key, [&](const Json& e, const std::string& at) {
      if (!e.is_string()) bad(at + " is not text");
      out.push_back(e.get<std::string>());
    });
  }
};

void read(const Reader& r, const char* key, Amount& out) {
  r.object(key, [&](const Reader& a) {
    a.get("predicted", out.predicted);
    a.get("measured", out.measured);
  });
}

void read(const Reader& r, LossDelta& d, const std::string& name = "val_loss_delta") {
  r.get(name.c_str(), d.delta);
  r.get((name + "_se").c_str(), d.se);
  r.get((name + "_se_kind").c_str(), d.se_kind);
  r.get((name + "_upper95").c_str(), d.upper);
  r.object((name + "_se_parts").c_str(), [&](const Reader& p) {
    p.get("token", d.se_token);
    p.get("window", d.se_window);
    p.get("seed", d.se_seed);
  });
}

void read(const Reader& r, Status& out) {
  std::string name = status_name(out);
  r.get("status", name);
  for (Status s : {Status::pending, Status::running, Status::done, Status::stopped, Status::failed}) {
    if (name == status_name(s)) {
      out = s;
      return;
    }
  }
  r.wrong("status", "a known status");
}

void read_events(const Reader& r, RecipeResult& out) {
  r.each("sampled_steps", [&](const Json& e, const std::string& at) {
    if (!e.is_number_integer()) bad(at + " is not an integer");
    out.sampled_steps.push_back(e.get<int64_t>());
  });
  r.each("rounding", [&](const Json& e, const std::string& at) {
    const Reader v(e, at);
    RoundingEvents& events = out.rounding.emplace_back();
    v.get("op", events.op), v.get("module", events.module), v.get("dtype", events.dtype);
    v.get("overflows", events.overflows), v.get("flushed", events.flushed);
  });
  r.each("modules", [&](const Json& e, const std::string& at) {
    const Reader v(e, at);
    ModuleRounding& m = out.modules.emplace_back();
    v.get("module", m.module), v.get("elements", m.elements), v.get("overflows", m.overflows), v.get("flushed", m.flushed);
    v.get("squared", m.squared), v.get("squared_difference", m.squared_difference);
    v.get("updates", m.updates), v.get("lost_updates", m.lost_updates);
  });
  r.object("dtype_calls", [&](const Reader& ops) {
    for (const auto& [op, dtypes] : ops.j.items()) {
      const Reader calls(dtypes, ops.where + "." + op);
      for (const auto& [dtype, n] : dtypes.items()) {
        DtypeCalls& c = out.dtype_calls.emplace_back(DtypeCalls{op, dtype, 0});
        calls.get(dtype.c_str(), c.calls);
      }
    }
  });
  r.object("nan", [&](const Reader& n) {
    FirstNaN& first = out.nan.emplace();
    n.get("op", first.op), n.get("module", first.module), n.get("step", first.step);
  });
}

RecipeResult read_recipe(const Reader& r) {
  RecipeResult out;
  r.get("name", out.name), r.get("doc", out.doc), read(r, out.status);
  r.object("recipe", [&](const Reader& f) {
    RecipeFields& to = out.fields;
    f.get("parameters", to.parameters), f.get("compute", to.compute), f.get("states", to.states);
    f.get("rounding", to.rounding), f.get("scaler", to.scaler);
    f.object("modules", [&](const Reader& m) {
      for (const auto& [pattern, dtype] : m.j.items()) m.get(pattern.c_str(), to.modules.emplace_back(pattern, "").second);
    });
  });
  r.get("weights_sha256", out.weights_sha256), r.get("steps", out.steps);
  r.get("val_loss", out.val_loss), r.get("val_loss_se", out.val_loss_se), read(r, out.vs_f32);
  r.get("metric", out.metric), read(r, out.metric_vs_f32, "metric_lost");
  r.each("seed_val_losses",
         [&](const Json& e, const std::string&) { out.seed_val_losses.push_back(e.is_number() ? e.get<double>() : kUnknown); });
  r.get("step_spread", out.step_spread), r.get("turns", out.turns), r.get("sampling", out.sampling);
  r.get("step_ms", out.step_ms), r.get("tokens_per_s", out.tokens_per_s), r.get("flops_per_s", out.flops_per_s);
  r.get("mfu", out.mfu), r.get("flops_peak", out.flops_peak);
  r.object("bytes", [&](const Reader& b) {
    read(b, "parameters", out.bytes.parameters), read(b, "gradients", out.bytes.gradients);
    read(b, "optimizer", out.bytes.optimizer), read(b, "activations", out.bytes.activations);
    read(b, "workspace", out.bytes.workspace), read(b, "peak", out.bytes.peak);
  });
  r.object("bytes_other", [&](const Reader& b) { read(b, "temporary", out.bytes.temporary), read(b, "data", out.bytes.data); });
  r.get("error", out.error), r.get("resident_peak", out.resident_peak), r.get("skipped_steps", out.skipped_steps);
  r.get("lost_updates", out.lost_updates), r.get("overflows", out.overflows), r.get("flushed", out.flushed);
  read_events(r, out);
  r.each("curve", [&](const Json& e, const std::string& at) {
    const Reader p(e, at);
    CurvePoint& point = out.curve.emplace_back();
    p.get("step", point.step), p.get("train_loss", point.train_loss), p.get("val_loss", point.val_loss);
  });
  return out;
}

FormatResult read_format(const Reader& r) {
  FormatResult out;
  r.get("name", out.name), read(r, out.status), r.get("error", out.error), r.get("bits_per_weight", out.bits_per_weight),
      r.get("bytes", out.bytes);
  r.get("val_loss", out.val_loss), read(r, out.vs_f32), r.get("kl", out.kl), r.get("kl_se", out.kl_se);
  r.get("metric", out.metric), read(r, out.metric_vs_f32, "metric_lost");
  r.get("top1_agreement", out.top1_agreement), r.get("tokens_per_s", out.tokens_per_s), r.get("workspace", out.workspace);
  return out;
}

Layers read_layers(const Reader& r) {
  Layers out;
  r.get("format", out.format), r.get("keep", out.keep);
  r.each("modules", [&](const Json& e, const std::string& at) {
    const Reader m(e, at);
    ModuleLoss& to = out.modules.emplace_back();
    m.get("module", to.module), m.get("bytes", to.bytes), m.get("stored_bytes", to.stored_bytes), m.get("kept", to.kept);
    read(m, to.alone, "alone"), read(m, to.spared, "spared");
  });
  r.each("tried", [&](const Json& e, const std::string& at) {
    const Reader t(e, at);
    auto& [format, bytes] = out.tried.emplace_back();
    t.get("format", format), t.get("bytes", bytes);
  });
  r.object("mixed", [&](const Reader& m) {
    m.get("bytes", out.bytes), m.get("value", out.value);
    read(m, out.vs_f32, "lost");
  });
  return out;
}

void read_context(const Reader& r, StudyResult& out) {
  r.object("machine", [&](const Reader& m) {
    Machine& to = out.machine;
    m.get("cpu", to.cpu), m.get("os", to.os), m.get("isa", to.isa), m.get("compiler", to.compiler), m.get("cores", to.cores);
    m.get("threads", to.threads), m.get("memory", to.memory), m.get("flops_peak", to.flops_peak);
    m.get("flops_peak_bf16", to.flops_peak_bf16), m.get("bytes_per_s_peak", to.bytes_per_s_peak);
  });
  r.object("corpus", [&](const Reader& c) {
    CorpusInfo& to = out.corpus;
    c.get("source", to.source), c.get("tokens", to.tokens), c.get("bytes", to.bytes), c.get("sha256", to.sha256);
    c.get("unigram_nats", to.unigram_nats), c.get("unigram_token_nats", to.unigram_token_nats);
    c.get("vocabulary", to.vocabulary), c.get("train_tokens", to.train_tokens), c.get("val_tokens", to.val_tokens);
    c.get("notes", to.notes);
    c.each("files", [&](const Json& e, const std::string& at) {
      const Reader f(e, at);
      CorpusFile& file = to.files.emplace_back();
      f.get("path", file.path), f.get("bytes", file.bytes);
    });
  });
  r.object("model", [&](const Reader& m) {
    ModelInfo& to = out.model;
    m.get("preset", to.preset), m.get("layers", to.layers), m.get("heads", to.heads), m.get("width", to.width);
    m.get("block", to.block), m.get("batch", to.batch), m.get("vocabulary", to.vocabulary);
    m.get("parameters", to.parameters), m.get("flops_per_step", to.flops_per_step);
    m.get("name", to.preset), m.get("kind", to.kind), m.get("training", out.training), m.get("notes", out.notes);
    if (to.kind.empty()) return;
    Measure& measure = out.measure;
    measure.unit.clear();
    m.get("item", measure.item), m.get("metric", measure.metric);
    m.get("metric_larger_is_better", measure.larger), m.get("metric_is_root_of_mean", measure.root);
  });
  r.object("options", [&](const Reader& o) {
    Options& to = out.options;
    o.get("recipes", to.recipes), o.get("formats", to.formats), o.get("steps", to.steps), o.get("time_s", to.time_s);
    o.get("seeds", to.seeds), o.get("seed", to.seed), o.get("tolerance", to.tolerance);
    std::string minimize = minimize_name(to.minimize);
    o.get("minimize", minimize);
    if (minimize != "memory" && minimize != "time") o.wrong("minimize", "\"memory\" or \"time\"");
    to.minimize = minimize == "time" ? Minimize::time : Minimize::memory;
    o.get("clip", to.clip), o.get("per_layer", to.per_layer), o.get("shadow", to.shadow);
  });
  r.object("identity", [&](const Reader& i) {
    for (const auto& [name, value] : i.j.items()) i.get(name.c_str(), out.identity.emplace_back(name, "").second);
  });
}
}  // namespace

StudyResult parse_report(std::string_view text) {
  const Json json = bounded_json<Json>(text, 64);
  if (json.is_discarded()) bad("not valid JSON");
  const Reader r(json, "report");
  int version = 0;
  r.get("report_version", version);
  if (version == 0) bad("there is no report_version");
  DY_CHECK_AS(ValueError, version <= kReportVersion,
              "report: written by a newer dyadic: report_version is {}, this program reads up to {}; use the newer program",
              version, kReportVersion);
  StudyResult out;
  r.get("dyadic", out.version), r.get("command", out.command), r.get("complete", out.complete), r.get("seconds", out.seconds);
  read_context(r, out);
  r.each("recipes", [&](const Json& e, const std::string& at) { out.recipes.push_back(read_recipe(Reader(e, at))); });
  r.each("formats", [&](const Json& e, const std::string& at) { out.formats.push_back(read_format(Reader(e, at))); });
  r.object("layers", [&](const Reader& l) { out.layers = read_layers(l); });
  r.object("recommendation", [&](const Reader& w) {
    Recommendation& to = out.recommendation;
    w.get("recipe", to.recipe), w.get("format", to.format), w.get("bytes", to.bytes), w.get("why", to.why);
    to.uniform = to.format;
    w.get("uniform", to.uniform);
    w.object("modules", [&](const Reader& kept) {
      for (const auto& [module, format] : kept.j.items()) kept.get(module.c_str(), to.modules.emplace_back(module, "").second);
    });
  });
  return out;
}

}  // namespace dyadic::inline v1::study
