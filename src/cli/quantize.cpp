// dyadic quantize: a language model's weights in fewer bits, by any method.
#include "base/check.h"
#include "base/text.h"
#include "cli/calibration.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/json.h"
#include "dyadic/device.h"
#include "dyadic/eval.h"
#include "dyadic/interrupt.h"
#include "dyadic/model_files.h"
#include "dyadic/quant.h"
#include "io/bad_file.h"

namespace dyadic::inline v1::cli {
namespace {

struct QuantizeCommand {
  std::string model, method = "rtn", format, calibration, size, out, packing, imatrix, save_imatrix;
  std::vector<std::string> options, map, include, exclude, formats;
  int64_t window = 512, samples = 32;
  bool list = false, resume = false, rotate = false;
};

// What --size chooses from unless --formats says otherwise.
constexpr const char* kSizes[] = {"i2(group=32,scale=f16)", "i3(group=32,scale=f16)", "i4(group=64,scale=f16)",
                                  "i4(group=32,scale=f16)", "i8(group=64,scale=f16)"};

std::string needs_text(const quant::Method& m) { return m.needs_inputs ? "yes" : "no"; }

int list_methods(const Common& common) {
  Json all = Json::array();
  Table table({"method", "calibration", "other layers", "formats"}, {Align::left, Align::left, Align::left, Align::left});
  for (const quant::Method* m : quant::methods()) {
    std::vector<std::string> formats;
    for (DType d : quant::formats_served(*m)) formats.push_back(d.name());
    Json options = Json::object();
    for (const auto& def : quant::option_defs(*m)) options[def.name] = def.fallback_text;
    all.push_back({{"name", m->name()},
                   {"signature", m->sig},
                   {"doc", m->doc},
                   {"source", m->source},
                   {"needs_calibration", m->needs_inputs},
                   {"adjusts_other_layers", m->input_scale != nullptr},
                   {"options", options},
                   {"formats", formats}});
    table.row({m->sig, needs_text(*m), m->input_scale ? "yes" : "no",
               formats.size() > 8 ? fmt::format("{} of those with scales", formats.size()) : join(formats, " ")});
  }
  print(common.json ? json_text({{"methods", all}}) : table.str());
  return kDone;
}

// "name=value", the value as the method's signature has it.
quant::Options method_options(const std::vector<std::string>& words) {
  quant::Options options;
  for (const std::string& word : words) {
    const size_t at = word.find('=');
    if (at == word.npos || at == 0 || at + 1 == word.size())
      throw UsageError(fmt::format("quantize: --option: {} is no NAME=VALUE", word));
    const std::string value = word.substr(at + 1);
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    const bool truth = value == "true" || value == "True", falsity = value == "false" || value == "False";
    options.set(word.substr(0, at), truth || falsity ? quant::Option(truth)
                                    : *end == 0      ? quant::Option(number)
                                                     : quant::Option(value));
  }
  return options;
}

// "600M", "1.5G" are bytes; "4.5bpw" bits for each parameter.
int64_t budget_bytes(const std::string& text, nn::Module& model) {
  if (!text.ends_with("bpw")) return byte_count(text.ends_with("B") ? text.substr(0, text.size() - 1) : text);
  char* end = nullptr;
  const double bits = std::strtod(text.c_str(), &end);
  DY_CHECK_AS(ValueError, std::string_view(end) == "bpw" && bits > 0 && bits < 1000,
              "--size: {} is no size; write 4.5bpw or 600M", text);
  return int64_t(bits / 8 * double(model.num_parameters()));
}

// Formats for the weights that q gives none.
void fit_budget(const QuantizeCommand& o, nn::Module& model, quant::QuantizeOptions& q, Json& out, std::string& text) {
  quant::BudgetOptions b{.bytes = budget_bytes(o.size, model),
                         .calibration = q.calibration,
                         .include = o.include,
                         .exclude = o.exclude,
                         .map = q.map};
  if (o.formats.empty())
    for (const char* f : kSizes) b.formats.push_back(DType::parse(f));
  for (const std::string& f : o.formats) b.formats.push_back(DType::parse(f));
  WatchWeights watch{"sensitivity"};
  b.progress = WatchWeights::step, b.context = &watch;
  const quant::BudgetPlan plan = quant::fit_budget(model, b);
  Table table({"bytes", "bits/weight", "distance"});
  out["curve"] = Json::array();
  const size_t every = std::max<size_t>(plan.curve.size() / 12, 1);
  for (size_t i = 0; i < plan.curve.size(); ++i) {
    const auto& p = plan.curve[i];
    const double bits = 8 * double(p.bytes) / double(model.num_parameters());
    out["curve"].push_back({{"bytes", p.bytes}, {"bits_per_weight", bits}, {"distance", number(p.distance)}});
    if (i % every == 0 || i + 1 == plan.curve.size())
      table.row({human_bytes(p.bytes), fmt::format("{:.2f}", bits), fmt::format("{:.4g}", p.distance)});
  }
  text += table.str() + "\n";
  q.map = plan.map;
}

std::string report_text(const quant::Report& r, nn::Module& model) {
  Table table({"weight", "format", "error", "rtn", "seconds"},
              {Align::left, Align::left, Align::right, Align::right, Align::right});
  std::string notes;
  for (const auto& l : r.layers) {
    table.row({l.name, l.format.name(), fmt::format("{:.4f}", l.error), fmt::format("{:.4f}", l.error_rtn),
               fmt::format("{:.2f}", l.seconds)});
    if (!l.fallback.empty()) notes += fmt::format("{} is rounded to nearest: {}\n", l.name, l.fallback);
    if (!l.note.empty()) notes += fmt::format("{}: {}\n", l.name, l.note);
  }
  return table.str() + "\n" + notes +
         fmt::format("{} -> {}, {:.2f} bits a parameter\n", human_bytes(r.bytes_before), human_bytes(r.bytes_after),
                     8 * double(r.bytes_after) / double(model.num_parameters()));
}

Json report_json(const quant::Report& r) {
  Json layers = Json::array();
  for (const auto& l : r.layers)
    layers.push_back({{"name", l.name},
                      {"format", l.format.name()},
                      {"error", number(l.error)},
                      {"error_rtn", number(l.error_rtn)},
                      {"seconds", l.seconds},
                      {"fallback", l.fallback},
                      {"note", l.note}});
  return layers;
}

// What makes two runs the same one.
std::string key_of(const QuantizeCommand& o) {
  std::string key =
      fmt::format("{} {} {} {} {} {} {}", o.model, o.method, o.format, o.size, o.calibration, o.window, o.samples);
  if (o.rotate) key += " rotated";
  if (!o.imatrix.empty()) key += " " + o.imatrix;
  for (const auto* words : {&o.options, &o.map, &o.include, &o.exclude, &o.formats}) key += " [" + join(*words, " ") + "]";
  return key;
}

void save_importance(const QuantizeCommand& o, models::CausalLM& model, quant::Batches& data) {
  quant::Importance all = quant::measure_importance(model, data);
  all.datasets = {o.calibration}, all.chunks = data.size(), all.chunk_size = o.window;
  quant::save_importance(o.save_imatrix, all, model);
}

int run_quantize(const QuantizeCommand& o, const Common& common) {
  const models::Model model = models::load(o.model);
  if (o.rotate) quant::rotate(*model);
  std::optional<quant::Batches> data;
  if (!o.calibration.empty()) data.emplace(calibration_windows(o.model, o.calibration, o.window, o.samples));
  Json out = {{"model", o.model}, {"method", o.method}};
  std::string text;
  quant::QuantizeOptions q{.method = o.method,
                           .options = method_options(o.options),
                           .calibration = data ? &*data : nullptr,
                           .include = o.include,
                           .exclude = o.exclude};
  if (!o.save_imatrix.empty()) {
    save_importance(o, *model, *data);
    out["imatrix"] = o.save_imatrix;
    if (o.format.empty() && o.size.empty()) return print(common.json ? json_text(out) : o.save_imatrix + "\n"), kDone;
  }
  std::optional<quant::Importance> importance;
  if (!o.imatrix.empty())
    q.importance = &importance.emplace(quant::load_importance(o.imatrix, *model)), q.calibration = nullptr;
  if (!o.format.empty()) q.weights = DType::parse(o.format);
  for (const std::string& rule : o.map) {
    auto [pattern, format] = parse_rule(rule);
    q.map.emplace_back(pattern, format == "keep" ? DType() : DType::parse(format));
  }
  if (!o.size.empty()) fit_budget(o, *model, q, out, text);
  const int64_t bytes = quant::predicted_bytes(*model, q);
  if (!common.json)
    print(text + fmt::format("{} will take {} instead of {}\n", o.model, human_bytes(bytes), human_bytes(model->nbytes())));
  WatchWeights watch{"quantize"};
  q.progress = WatchWeights::step, q.context = &watch;
  std::optional<quant::FolderJournal> journal;
  if (!o.out.empty()) q.journal = &journal.emplace(o.out + "/unfinished", key_of(o), o.resume);
  const quant::Report r = quant::quantize(*model, q);
  watch.steps.reset();
  if (!o.out.empty()) {
    model->save_pretrained(o.out, 50'000'000'000, o.packing);
    models::copy_tokenizer(o.model, o.out);
    journal->remove();
    out["out"] = o.out;
  }
  out["layers"] = report_json(r);
  out["bytes_before"] = r.bytes_before, out["bytes_after"] = r.bytes_after;
  out["bits_per_weight"] = 8 * double(r.bytes_after) / double(model->num_parameters());
  out["peak_bytes"] = memory_stats().total_peak;
  print(common.json ? json_text(out) : "\n" + report_text(r, *model));
  return kDone;
}

int quantize(const QuantizeCommand& o, const Common& common) {
  if (o.list) return list_methods(common);
  if (o.model.empty()) throw UsageError("quantize: of which model? Give its folder, or --list for the methods");
  const bool measures = !o.save_imatrix.empty();
  if (measures && o.calibration.empty())
    throw UsageError("quantize: --save-imatrix writes what a text teaches: give --calibration");
  if (o.format.empty() == o.size.empty() && !(measures && o.format.empty()))
    throw UsageError("quantize: to what? --format FORMAT for all weights, or --size for a choice of formats");
  if (o.resume && o.out.empty()) throw UsageError("quantize: --resume goes on with what --out DIR holds: give it");
  if (!o.packing.empty() && o.out.empty()) throw UsageError("quantize: --packing says how --out is written: give --out");
  if (o.size.empty() && !o.formats.empty()) throw UsageError("quantize: --formats is what --size chooses from: give --size");
  install_interrupt_handler();
  try {
    return run_quantize(o, common);
  } catch (const Stopped&) { return kInterrupted; }
}

Run setup_quantize(Options& options) {
  auto o = std::make_shared<QuantizeCommand>();
  const auto is_format = [](const std::string& text) { DType::parse(text); };
  options.value("model", o->model, "MODEL", "a language model's folder: config.json, weights, tokenizer.json")
      .value("--method", o->method, "NAME", "rtn, gptq, awq ...: --list shows them (default: rtn)",
             [](const std::string& text) { quant::method(text); })
      .value("--format", o->format, "FORMAT", "of the weights: i4(group=128), q4_K, nf4 ...", is_format)
      .value("--map", o->map, "NAME=FORMAT ...", "the format of weights by name, with * and ?; keep: as it is; before --format",
             [](const std::string& text) { parse_rule(text); })
      .value("--size", o->size, "SIZE", "of the whole model, 4.5bpw or 600M: each weight's format is chosen by what it costs")
      .value("--formats", o->formats, "FORMAT ...", "what --size chooses from (default: i2 to i8 in groups)", is_format)
      .value("--calibration", o->calibration, "FILE", "a text like what the model will read")
      .value("--window", o->window, "N", "tokens of the text that are seen at once (default: 512)", at_least(2))
      .value("--samples", o->samples, "N", "windows, spread over the text (default: 32)", at_least(1))
      .value("--option", o->options, "NAME=VALUE ...", "of the method: damping=0.05")
      .value("--include", o->include, "NAME ...", "only weights with these names, with * and ?")
      .value("--exclude", o->exclude, "NAME ...", "but these: lm_head.weight")
      .flag("--rotate", o->rotate, "the model's residual stream into another basis first, which spreads outliers (QuaRot)")
      .value("--out", o->out, "DIR", "a folder for the result, which loads like any other model")
      .value("--imatrix", o->imatrix, "FILE",
             "for --method imatrix: llama.cpp's importance matrix of the model, in the place of "
             "--calibration")
      .value("--save-imatrix", o->save_imatrix, "FILE",
             "writes the model's importance matrix by --calibration, as llama.cpp reads it")
      .flag("--resume", o->resume, "go on with what an interrupted run left in --out DIR")
      .value("--packing", o->packing, "NAME",
             "how DIR has the weights, for other tools: gptq, awq, bitsandbytes, compressed-tensors or fp8 (default: dyadic's)")
      .flag("--list", o->list, "the methods: formats, whether they need calibration, whether they adjust other layers");
  return [o](const Common& common) { return quantize(*o, common); };
}

}  // namespace

extern const Command quantize_command;
const Command quantize_command = {
    "quantize", "a language model's weights in fewer bits",
    "dyadic quantize models/Qwen3-0.6B --method gptq --format \"i4(group=128)\" --calibration wiki.txt --out small",
    setup_quantize};

}  // namespace dyadic::inline v1::cli
