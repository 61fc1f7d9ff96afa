// Language models of Hugging Face's folders. python/dyadic/_pretrained.py has the rest.
#include "models.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dyadic/adapters.h"
#include "dyadic/models.h"

namespace dyadic::inline v1::python {
namespace {

using models::Cache;
using models::CausalLM;

// Calls a Python function; what it returns is whether to go on, None too.
class PythonStreamer : public models::Streamer {
  nb::object put_;

 public:
  explicit PythonStreamer(nb::object put) : put_(std::move(put)) {}
  bool put(std::span<const int64_t> tokens) override {
    nb::list list;
    for (int64_t t : tokens) list.append(t);
    nb::object goes_on = put_(list);
    return goes_on.is_none() || nb::cast<bool>(goes_on);
  }
};

Tensor generate(CausalLM& m, const Tensor& ids, int64_t max_new_tokens, bool do_sample, double repetition_penalty,
                double temperature, int64_t top_k, double top_p, double min_p, std::optional<std::vector<int64_t>> eos_token_id,
                std::optional<int64_t> pad_token_id, std::optional<Tensor> attention_mask, uint64_t seed, nb::object streamer) {
  PythonStreamer told(streamer);
  return m.generate(ids, {.max_new_tokens = max_new_tokens,
                          .do_sample = do_sample,
                          .repetition_penalty = repetition_penalty,
                          .temperature = temperature,
                          .top_k = top_k,
                          .top_p = top_p,
                          .min_p = min_p,
                          .eos_token_id = std::move(eos_token_id),
                          .pad_token_id = pad_token_id,
                          .attention_mask = attention_mask ? *attention_mask : Tensor(),
                          .seed = seed,
                          .streamer = streamer.is_none() ? nullptr : &told});
}

models::Adapter& adapter_of(CausalLM& m) {
  if (!m.adapter) throw ValueError("the model has no adapter: load_adapter() or add_adapter() first");
  return *m.adapter;
}
void add_adapter(CausalLM& m, int64_t r, double lora_alpha, std::vector<std::string> target_modules, double lora_dropout,
                 bool use_rslora, bool use_dora) {
  models::add_adapter(m, {.r = r,
                          .lora_alpha = lora_alpha,
                          .target_modules = std::move(target_modules),
                          .lora_dropout = lora_dropout,
                          .use_rslora = use_rslora,
                          .use_dora = use_dora});
}

}  // namespace

void add_models(nb::module_& m) {
  nb::class_<Cache>(m, "_KeyValueCache", "Keys and values of the tokens that a model has seen.")
      .def(nb::init<int64_t>(), nb::arg("reserve") = 0)
      .def("__len__", &Cache::length)
      .def("nbytes", &Cache::nbytes)
      .def("clear", &Cache::clear);
  nb::class_<CausalLM, Module>(m, "_CausalLM", nb::dynamic_attr(), nb::type_slots(module_slots),
                               "A language model: the part of it that is C++'s.")
      .def_prop_ro("_config_json", [](CausalLM& c) { return c.config; })
      .def(
          "_logits", [](CausalLM& c, const Tensor& ids, Cache* cache) { return cache ? c(ids, *cache) : c.forward(ids); },
          nb::arg("ids"), nb::arg("cache").none())
      .def("_save_pretrained", &CausalLM::save_pretrained, nb::arg("folder"), nb::arg("max_shard_size"), nb::arg("packing"))
      .def(
          "_load_adapter",
          [](CausalLM& m, const std::string& folder, bool trainable) {
            models::load_adapter(m, folder, {.is_trainable = trainable});
          },
          nb::arg("folder"), nb::arg("is_trainable"))
      .def("_add_adapter", add_adapter, nb::arg("r"), nb::arg("lora_alpha"), nb::arg("target_modules"), nb::arg("lora_dropout"),
           nb::arg("use_rslora"), nb::arg("use_dora"))
      .def("_merge_adapter", [](CausalLM& m) { adapter_of(m).merge(); })
      .def("_unload_adapter", [](CausalLM& m) { adapter_of(m).unload(); })
      .def(
          "_enable_adapter", [](CausalLM& m, bool on) { adapter_of(m).set_enabled(on); }, nb::arg("on"))
      .def("_generate", generate, nb::arg("ids"), nb::arg("max_new_tokens"), nb::arg("do_sample"),
           nb::arg("repetition_penalty"), nb::arg("temperature"), nb::arg("top_k"), nb::arg("top_p"), nb::arg("min_p"),
           nb::arg("eos_token_id").none(), nb::arg("pad_token_id").none(), nb::arg("attention_mask").none(), nb::arg("seed"),
           nb::arg("streamer").none());
  m.def(
      "_load_pretrained",
      [](const std::string& folder, nb::object dtype, nb::object device) {
        const nn::Options o = read_options(dtype, device);
        return std::static_pointer_cast<CausalLM>(models::load(folder, {.dtype = o.dtype, .device = o.device}).ptr());
      },
      nb::arg("folder"), nb::arg("dtype").none(), nb::arg("device").none());
}

}  // namespace dyadic::inline v1::python
