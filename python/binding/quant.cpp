// What dyadic.quant is made of: methods as records, one matrix, a whole model. python/dyadic/quant/ has the rest.
#include "dyadic/quant.h"

#include "dyadic/models.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "calibration.h"
#include "nn.h"
#include "quant/trainable.h"

namespace dyadic::inline v1::python {
namespace {

using namespace quant;

quant::Option option_of(nb::handle value) {
  if (value.is_none()) return {};
  if (PyBool_Check(value.ptr())) return nb::cast<bool>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  return nb::cast<double>(value);
}
quant::Options options_of(nb::dict given) {
  quant::Options all;
  for (auto [name, value] : given) all.set(nb::cast<std::string>(name), option_of(value));
  return all;
}

nb::dict record(const Method& m) {
  nb::dict d;
  d["name"] = m.name(), d["signature"] = m.sig, d["doc"] = m.doc, d["source"] = m.source;
  d["needs_calibration"] = m.needs_inputs, d["adjusts_other_layers"] = m.input_scale != nullptr;
  nb::list formats;
  for (DType f : formats_served(m)) formats.append(f.name());
  d["formats"] = formats;
  return d;
}

nb::tuple layer_tuple(const LayerReport& l) {
  return nb::make_tuple(l.name, l.format.name(), l.error, l.error_rtn, l.seconds, l.fallback, l.note);
}

nb::tuple report_tuple(const Report& r) {
  nb::list layers;
  for (const LayerReport& l : r.layers) layers.append(layer_tuple(l));
  return nb::make_tuple(layers, r.bytes_before, r.bytes_after);
}

using Map = std::vector<std::pair<std::string, std::optional<std::string>>>;
DType format_of(const std::optional<std::string>& text) { return text ? DType::parse(*text) : DType(); }

models::CausalLM& language_model(nn::Module& model) {
  auto* m = model.as<models::CausalLM>();
  if (!m)
    throw ValueError(std::string("importance: GGUF's names are those of language models, and the model is ") + model.kind());
  return *m;
}

nb::tuple quantize_model(nn::Module& model, std::optional<std::string> weights, const Map& map, const std::string& name,
                         nb::dict options, nb::object calibration, std::vector<std::string> include,
                         std::vector<std::string> exclude, const std::string& journal, const std::string& key, bool resume,
                         nb::handle trained, bool rotated, const std::string& importance) {
  std::optional<PythonCalibration> data;
  if (!calibration.is_none()) data.emplace(calibration);
  QuantizeOptions o{.weights = format_of(weights),
                    .method = name,
                    .options = options_of(options),
                    .calibration = data ? &*data : nullptr,
                    .include = std::move(include),
                    .exclude = std::move(exclude)};
  for (auto& [pattern, format] : map) o.map.emplace_back(pattern, format_of(format));
  o.rotate = rotated;
  std::optional<Importance> known;
  if (!importance.empty()) o.importance = &known.emplace(load_importance(importance, language_model(model)));
  if (!trained.is_none()) {  // (activations, learned_scales): Python's hooks call the quantizers, whoever calls the layers
    const auto [activations, learned] = nb::cast<std::pair<std::optional<DType>, bool>>(trained);
    o.activations = activations.value_or(DType()), o.trainable = true, o.learned_scales = learned;
    return report_tuple(begin_training(model, o, false));
  }
  std::optional<FolderJournal> kept;
  if (!journal.empty()) o.journal = &kept.emplace(journal, key, resume);
  return report_tuple(quantize(model, o));
}

nb::list calibrate_model(nn::Module& model, nb::object data, const std::string& observer, double momentum, double percentile) {
  PythonCalibration calibration(data);
  nb::list all;
  for (const RangeReport& r :
       calibrate(model, calibration, {.observer = observer, .momentum = momentum, .percentile = percentile}))
    all.append(nb::make_tuple(r.name, r.format.name(), r.batches, r.low, r.high, r.scale, r.zero));
  return all;
}

nb::tuple budget(nn::Module& model, int64_t bytes, const std::vector<std::string>& formats, nb::object calibration,
                 std::vector<std::string> include, std::vector<std::string> exclude, const Map& given) {
  std::optional<PythonCalibration> data;
  if (!calibration.is_none()) data.emplace(calibration);
  BudgetOptions o{
      .bytes = bytes, .calibration = data ? &*data : nullptr, .include = std::move(include), .exclude = std::move(exclude)};
  for (const std::string& f : formats) o.formats.push_back(DType::parse(f));
  for (auto& [pattern, format] : given) o.map.emplace_back(pattern, format_of(format));
  const BudgetPlan plan = fit_budget(model, o);
  nb::dict map;
  for (auto& [pattern, format] : plan.map)
    map[pattern.c_str()] = format ? nb::object(nb::str(format.name().c_str())) : nb::none();
  nb::list curve;
  for (const BudgetPoint& p : plan.curve) curve.append(nb::make_tuple(p.bytes, p.distance));
  return nb::make_tuple(map, curve);
}

}  // namespace

void add_quant(nb::module_& m) {
  nb::module_ q = m.def_submodule("_quant");
  q.def("methods", [] {
    nb::list all;
    for (const Method* method : quant::methods()) all.append(record(*method));
    return all;
  });
  q.def(
      "matrix",
      [](const std::string& name, const Tensor& weight, std::optional<Tensor> inputs, DType format, nb::dict options) {
        const Method& method = quant::method(name);
        const Tensor x = inputs ? *inputs : Tensor();
        if (!method.input_scale) return nb::cast(quantize_matrix(method, weight, x, format, options_of(options)).weight);
        const Scaled s = quantize_scaled(method, weight, x, format, options_of(options));
        return nb::object(nb::make_tuple(s.weight, s.input_scale));
      },
      nb::arg("method"), nb::arg("weight"), nb::arg("inputs").none(), nb::arg("format"), nb::arg("options"));
  q.def(
      "round_inputs", [](const Tensor& x, DType format, double threshold) { return round_inputs(x, format, threshold); },
      nb::arg("x"), nb::arg("format"), nb::arg("threshold") = 0);
  q.def("quantize", quantize_model, nb::arg("model"), nb::arg("weights").none(), nb::arg("map"), nb::arg("method"),
        nb::arg("options"), nb::arg("calibration").none(), nb::arg("include"), nb::arg("exclude"), nb::arg("journal"),
        nb::arg("key"), nb::arg("resume"), nb::arg("trained").none(), nb::arg("rotate"), nb::arg("importance"));
  nb::class_<Quantizer, nn::Module>(q, "Quantizer", nb::dynamic_attr(), nb::type_slots(module_slots),
                                    "The scales of a layer that is trained as it will be stored.")
      .def(
          "_enter",
          [](Quantizer& q, nn::Module& m, std::optional<Tensor> x) {
            const Tensor y = q.enter(m, x ? *x : Tensor());
            return y.defined() ? nb::cast(y) : nb::none();
          },
          nb::arg("module"), nb::arg("x").none())
      .def("_leave", &Quantizer::leave, nb::arg("module"))
      .def("_made_of",
           [](const Quantizer& q) {
             nb::list parts;
             for (auto& part : q.parts()) parts.append(nb::make_tuple(part->name, part->format, part->filters));
             return nb::make_tuple(q.activations() ? nb::cast(q.activations()) : nb::none(), q.learned(), parts);
           })
      .def("_watch", [](Quantizer& q, nn::Module& m) { q.watch(m); }, nb::arg("module"));
  q.def(
      "remade",  // of what _made_of says, and of its state
      [](std::optional<DType> activations, bool learned, nb::list parts, const std::map<std::string, Tensor>& state) {
        auto q = std::make_shared<Quantizer>(activations.value_or(DType()), learned);
        for (nb::handle one : parts) {
          const auto [name, format, filters] = nb::cast<std::tuple<std::string, DType, bool>>(one);
          const Tensor scale = learned ? state.at(name + "_scale").detach().clone().requires_grad_() : Tensor();
          q->add_weight(name, Tensor(), format, filters, &scale);
        }
        if (parts.size() == 0) q->freeze();
        q->load_state_dict({state.begin(), state.end()});
        return q;
      },
      nb::arg("activations"), nb::arg("learned"), nb::arg("parts"), nb::arg("state"));
  q.def(
      "round_inputs_of", [](nn::Module& m, DType format, double threshold) { round_inputs_of(m, format, threshold); },
      nb::arg("module"), nb::arg("format"), nb::arg("threshold"));
  q.def("calibrate", calibrate_model, nb::arg("model"), nb::arg("data"), nb::arg("observer"), nb::arg("momentum"),
        nb::arg("percentile"));
  q.def("observers", observers);
  q.def(
      "save_importance",
      [](nn::Module& model, nb::object data, const std::string& path, std::vector<std::string> datasets, int64_t chunks) {
        PythonCalibration calibration(data);
        const models::CausalLM& m = language_model(model);
        Importance all = measure_importance(model, calibration);
        all.datasets = std::move(datasets), all.chunks = chunks;
        save_importance(path, all, m);
      },
      nb::arg("model"), nb::arg("data"), nb::arg("path"), nb::arg("datasets"), nb::arg("chunks"));
  q.def("rotate", rotate, nb::arg("model"), nb::arg("seed"));
  q.def("freeze", [](nn::Module& model) { return report_tuple(freeze(model)); }, nb::arg("model"));
  q.def(
      "fake_quantize", [](const Tensor& w, DType format) { return fake_quantize(w, format); }, nb::arg("weight"),
      nb::arg("format"));
  q.def("fit_budget", budget, nb::arg("model"), nb::arg("bytes"), nb::arg("formats"), nb::arg("calibration").none(),
        nb::arg("include"), nb::arg("exclude"), nb::arg("map"));
}

}  // namespace dyadic::inline v1::python
