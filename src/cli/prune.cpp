// dyadic prune: which of a language model's weights become zero.
#include "dyadic/prune.h"

#include "base/check.h"
#include "base/text.h"
#include "cli/calibration.h"
#include "cli/command.h"
#include "cli/json.h"
#include "dyadic/interrupt.h"
#include "dyadic/model_files.h"
#include "dyadic/narrow.h"

namespace dyadic::inline v1::cli {
namespace {

struct PruneCommand {
  std::string model, method = "magnitude", sparsity = "0.5", scope, calibration, out;
  std::vector<std::string> include, exclude = {"lm_head.*"};
  double channels = 0, heads = 0;
  int64_t window = 512, samples = 32;
  bool list = false;
};

const char* yes_or_no(bool v) { return v ? "yes" : "no"; }

int list_pruning_methods(const Common& common) {
  Json all = Json::array();
  Table table({"method", "calibration", "", "source"}, {Align::left, Align::left, Align::left, Align::left});
  for (const prune::Method* m : prune::methods()) {
    all.push_back({{"name", m->name}, {"doc", m->doc}, {"source", m->source}, {"needs_calibration", m->needs_inputs}});
    table.row({m->name, yes_or_no(m->needs_inputs), m->doc, m->source});
  }
  print(common.json ? json_text({{"methods", all}}) : table.str());
  return kDone;
}

Json document(const PruneCommand& o, const prune::Report& r) {
  Json layers = Json::array();
  for (const prune::LayerReport& l : r.layers)
    layers.push_back({{"name", l.name},
                      {"sparsity", l.sparsity},
                      {"error", number(l.error)},
                      {"error_magnitude", number(l.error_magnitude)},
                      {"seconds", l.seconds},
                      {"fallback", l.fallback}});
  return {
      {"model", o.model}, {"method", o.method}, {"sparsity", o.sparsity}, {"parameters", r.parameters},
      {"zeros", r.zeros}, {"bytes", r.bytes},   {"layers", layers},       {"out", o.out.empty() ? Json(nullptr) : Json(o.out)}};
}

std::string report_text(const prune::Report& r) {
  Table table({"weight", "zeros", "error", "magnitude's", "seconds"},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  std::string notes;
  for (const prune::LayerReport& l : r.layers) {
    table.row({l.name, fmt::format("{:.1f} %", 100 * l.sparsity), fmt::format("{:.4f}", l.error),
               fmt::format("{:.4f}", l.error_magnitude), fmt::format("{:.2f}", l.seconds)});
    if (!l.fallback.empty()) notes += fmt::format("{} lost its smallest weights: {}\n", l.name, l.fallback);
  }
  return table.str() + "\n" + notes +
         fmt::format("{:.1f} % of {} parameters are zero; they take {} as before: zeros are stored like other numbers\n",
                     100 * double(r.zeros) / double(r.parameters), human_count(double(r.parameters)), human_bytes(r.bytes));
}

void save(models::CausalLM& model, const PruneCommand& o) {
  if (o.out.empty()) return;
  model.save_pretrained(o.out);
  models::copy_tokenizer(o.model, o.out);
}

int narrow_model(models::CausalLM& model, const PruneCommand& o, quant::Calibration* data, const Common& common) {
  const models::Model small = prune::narrowed(model, {.channels = o.channels, .heads = o.heads, .calibration = data});
  save(*small, o);
  const Json j = {{"model", o.model},
                  {"parameters_before", model.num_parameters()},
                  {"parameters", small->num_parameters()},
                  {"bytes_before", model.nbytes()},
                  {"bytes", small->nbytes()},
                  {"out", o.out.empty() ? Json(nullptr) : Json(o.out)}};
  print(common.json ? json_text(j)
                    : fmt::format("{} parameters -> {}, {} -> {}\n", human_count(double(model.num_parameters())),
                                  human_count(double(small->num_parameters())), human_bytes(model.nbytes()),
                                  human_bytes(small->nbytes())));
  return kDone;
}

int prune_model(const PruneCommand& o, const Common& common) {
  if (o.list) return list_pruning_methods(common);
  if (o.model.empty()) throw UsageError("prune: of which model? Give its folder, or --list for the methods");
  install_interrupt_handler();
  try {
    const models::Model model = models::load(o.model);
    std::optional<quant::Batches> data;
    if (!o.calibration.empty()) data.emplace(calibration_windows(o.model, o.calibration, o.window, o.samples));
    if (o.channels > 0 || o.heads > 0) return narrow_model(*model, o, data ? &*data : nullptr, common);
    WatchWeights watch{"prune"};
    prune::PruneOptions p{.sparsity = prune::parse_sparsity(o.sparsity),
                          .method = o.method,
                          .calibration = data ? &*data : nullptr,
                          .include = o.include,
                          .exclude = o.exclude,
                          .progress = WatchWeights::step,
                          .context = &watch};
    if (!o.scope.empty()) p.scope = prune::parse_scope(o.scope);
    const prune::Report r = prune::prune(*model, p);
    watch.steps.reset();
    save(*model, o);
    print(common.json ? json_text(document(o, r)) : report_text(r));
    return kDone;
  } catch (const Stopped&) { return kInterrupted; }
}

Run setup_prune(Options& options) {
  auto o = std::make_shared<PruneCommand>();
  options.value("model", o->model, "MODEL", "a language model's folder: config.json, weights, tokenizer.json")
      .value("--method", o->method, "NAME", "magnitude, wanda or sparsegpt (default: magnitude)",
             [](const std::string& text) { prune::method(text); })
      .value("--sparsity", o->sparsity, "S",
             "share of the weights that become zero, 0.5 or 50%, or 2:4 of neighbours (default: 0.5)",
             [](const std::string& text) { prune::parse_sparsity(text); })
      .value(
          "--scope", o->scope, "WHERE",
          "the smallest are looked for in a matrix, each row, or global: all of them; rows: whole rows (default: the method's)",
          [](const std::string& text) { prune::parse_scope(text); })
      .value("--channels", o->channels, "X", "take out this share of the channels of gated layers instead: a smaller model",
             between(0, 0.99))
      .value("--heads", o->heads, "X", "and this share of the heads of keys and values, with their queries", between(0, 0.99))
      .value("--calibration", o->calibration, "FILE", "a text like what the model will read")
      .value("--window", o->window, "N", "tokens of the text that are seen at once (default: 512)", at_least(2))
      .value("--samples", o->samples, "N", "windows, spread over the text (default: 32)", at_least(1))
      .value("--include", o->include, "NAME ...", "only weights with these names, with * and ?")
      .value("--exclude", o->exclude, "NAME ...", "but these (default: lm_head.*)")
      .value("--out", o->out, "DIR", "a folder for the result, which loads like any other model")
      .flag("--list", o->list, "the methods");
  return [o](const Common& common) { return prune_model(*o, common); };
}

}  // namespace

extern const Command prune_command;
const Command prune_command = {
    "prune", "zeros in a language model's weights",
    "dyadic prune models/Qwen3-0.6B --method sparsegpt --sparsity 2:4 --calibration wiki.txt --out sparse", setup_prune};

}  // namespace dyadic::inline v1::cli
