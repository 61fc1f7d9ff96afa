// Language models: their part that is C++'s. python/dyadic/_pretrained.py has the rest.
#include "models.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dyadic/adapters.h"
#include "dyadic/eval.h"
#include "dyadic/offload.h"
#include "dyadic/text_generation.h"
#include "text/unicode.h"

namespace dyadic::inline v1::python {
namespace {

using models::Cache;
using models::CausalLM;
using models::GenerateOptions;

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
bool tell(void* context, size_t, std::string_view text) {
  nb::object goes_on = (*static_cast<nb::object*>(context))(text::valid_utf8(text));
  return goes_on.is_none() || nb::cast<bool>(goes_on);
}

// None, or (keys, values, rotate_keys) of which each may be None; _pretrained.py makes them.
std::optional<models::KvFormats> kv_of(nb::handle given) {
  if (given.is_none()) return {};
  const auto [keys, values, rotate] =
      nb::cast<std::tuple<std::optional<DType>, std::optional<DType>, std::optional<bool>>>(given);
  return models::KvFormats{.keys = keys.value_or(DType()), .values = values.value_or(DType()), .rotate_keys = rotate};
}

// By their names in GenerateOptions; _pretrained.py gives all of them.
GenerateOptions options_of(const nb::dict& given) {
  GenerateOptions o;
  const auto read = [&](const char* name, auto& to) { to = nb::cast<std::decay_t<decltype(to)>>(given[name]); };
  read("max_new_tokens", o.max_new_tokens), read("do_sample", o.do_sample), read("temperature", o.temperature);
  read("top_k", o.top_k), read("top_p", o.top_p), read("min_p", o.min_p);
  read("repetition_penalty", o.repetition_penalty), read("seed", o.seed), read("stop_strings", o.stop_strings);
  o.kv = kv_of(given["kv"]);
  read("eos_token_id", o.eos_token_id), read("pad_token_id", o.pad_token_id);
  return o;
}

// Logits, and where states are asked for the hidden states.
std::pair<Tensor, std::optional<std::vector<Tensor>>> forward_with(CausalLM& m, std::optional<Tensor> ids, Cache* cache,
                                                                   std::optional<Tensor> pad, std::optional<Tensor> embeddings,
                                                                   std::optional<Tensor> token_types, bool states) {
  std::optional<std::vector<Tensor>> all;
  models::ForwardOptions o{.cache = cache};
  if (states) o.hidden_states = &all.emplace();
  if (pad) o.pad = *pad;
  if (embeddings) o.embeddings = *embeddings;
  if (token_types) o.token_types = *token_types;
  Tensor logits = m.forward_with(ids.value_or(Tensor()), o);
  return {std::move(logits), std::move(all)};
}

Tensor generate(CausalLM& m, const Tensor& ids, const nb::dict& options, std::optional<Tensor> mask, const Tokenizer* tokenizer,
                nb::object streamer, Cache* cache) {
  PythonStreamer told(streamer);
  GenerateOptions o = options_of(options);
  if (mask) o.attention_mask = *mask;
  o.tokenizer = tokenizer, o.cache = cache;
  if (!streamer.is_none()) o.streamer = &told;
  return m.generate(ids, o);
}

std::vector<std::string> generate_text(CausalLM& m, const Tokenizer& tokenizer, const std::vector<std::string>& prompts,
                                       const nb::dict& options, nb::object streamer) {
  models::TextOptions o{.generate = options_of(options)};
  if (!streamer.is_none()) o.on_text = tell, o.context = &streamer;
  std::vector<std::vector<int64_t>> ids;
  for (const std::string& p : prompts) ids.push_back(tokenizer.encode_prompt(p));
  std::vector<std::string> texts;
  for (const models::GeneratedText& r : models::generate_text(m, tokenizer, ids, o)) texts.push_back(text::valid_utf8(r.text));
  return texts;
}

nb::dict perplexity(CausalLM& m, const Tokenizer* tokenizer, nb::object data, int64_t window, int64_t stride,
                    std::optional<int64_t> bos, CausalLM* base, nb::object kv) {
  models::PerplexityOptions o{.window = window, .stride = stride, .bos = bos, .kv = kv_of(kv), .base = base};
  const models::Perplexity p = tokenizer ? models::perplexity(m, *tokenizer, nb::cast<std::string>(data), o)
                                         : models::perplexity(m, nb::cast<std::vector<int64_t>>(data), o);
  nb::dict d;
  d["perplexity"] = p.perplexity, d["perplexity_stderr"] = p.perplexity_stderr, d["nll"] = p.nll,
  d["nll_stderr"] = p.nll_stderr;
  d["tokens"] = p.tokens, d["window"] = p.window, d["stride"] = p.stride;
  if (const auto& v = p.divergence) {
    d["kl_mean"] = v->kl_mean, d["kl_stderr"] = v->kl_stderr, d["kl_p99"] = v->kl_p99, d["nll_change"] = v->nll_change;
    d["nll_change_stderr"] = v->nll_change_stderr, d["same_top"] = v->same_top, d["same_top_stderr"] = v->same_top_stderr;
    d["rms_dp"] = v->rms_dp;
  }
  return d;
}

nb::dict multiple_choice(CausalLM& m, const Tokenizer& tokenizer, nb::list questions) {
  std::vector<models::Question> all;
  for (nb::handle q : questions)
    all.push_back({nb::cast<std::string>(q["context"]), nb::cast<std::vector<std::string>>(q["choices"]),
                   nb::cast<int64_t>(q["answer"])});
  const models::TaskScore s = models::multiple_choice(m, tokenizer, all);
  nb::dict d;
  d["acc"] = s.acc, d["acc_stderr"] = s.acc_stderr, d["acc_norm"] = s.acc_norm, d["acc_norm_stderr"] = s.acc_norm_stderr;
  d["questions"] = s.questions, d["log_probabilities"] = s.log_probabilities;
  return d;
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
      .def(
          "__init__",
          [](Cache* self, int64_t reserve, nb::object kv) {
            new (self) Cache(reserve, kv_of(kv).value_or(models::KvFormats{}));
          },
          nb::arg("reserve") = 0, nb::arg("kv").none() = nb::none())
      .def("__len__", &Cache::length)
      .def("nbytes", &Cache::nbytes)
      .def("clear", &Cache::clear);
  nb::class_<CausalLM, Module>(m, "_CausalLM", nb::dynamic_attr(), nb::type_slots(module_slots),
                               "A language model: the part of it that is C++'s.")
      .def_prop_rw(
          "_kv",
          [](CausalLM& c) {
            const auto given = [](DType d) { return d ? std::optional(d) : std::nullopt; };
            return std::tuple(given(c.kv.keys), given(c.kv.values), c.kv.rotate_keys);
          },
          [](CausalLM& c, nb::object kv) {
            models::KvFormats formats = kv_of(kv).value_or(models::KvFormats{});
            formats.check();
            c.kv = formats;
          },
          nb::arg("kv").none())
      .def_prop_ro("_config_json", [](CausalLM& c) { return c.config; })
      .def_ro("_generation_json", &CausalLM::generation_config)
      .def_prop_ro("_has_adapter", [](CausalLM& c) { return c.adapter != nullptr; })
      .def("_forward_with", forward_with, nb::arg("ids").none(), nb::arg("cache").none(), nb::arg("pad").none(),
           nb::arg("embeddings").none(), nb::arg("token_types").none(), nb::arg("states"))
      .def("_resize_token_embeddings", &CausalLM::resize_token_embeddings, nb::arg("tokens"))
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
      .def("_generate", generate, nb::arg("ids"), nb::arg("options"), nb::arg("mask").none(), nb::arg("tokenizer").none(),
           nb::arg("streamer").none(), nb::arg("cache").none())
      .def("_generate_text", generate_text, nb::arg("tokenizer"), nb::arg("prompts"), nb::arg("options"),
           nb::arg("streamer").none())
      .def("_perplexity", perplexity, nb::arg("tokenizer").none(), nb::arg("data"), nb::arg("window"), nb::arg("stride"),
           nb::arg("bos").none(), nb::arg("base").none(), nb::arg("kv").none())
      .def("_multiple_choice", multiple_choice, nb::arg("tokenizer"), nb::arg("questions"));
  m.def("_config_json", &models::config_json, nb::arg("path"));
  m.def(
      "_make_pretrained",
      [](const std::string& config, const std::string& generation) {
        const std::shared_ptr<CausalLM> made = models::make(config, {.device = meta});
        made->generation_config = generation;
        return made;
      },
      nb::arg("config"), nb::arg("generation"), "A model without weights.");
  m.def(
      "_make_random",
      [](const std::string& config, nb::object dtype, nb::object device) {
        const std::shared_ptr<CausalLM> made = models::make(config, read_options(dtype, device));
        models::initialize(*made);
        return made;
      },
      nb::arg("config"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def(
      "_load_pretrained",
      [](const std::string& path, nb::object dtype, nb::object device, std::optional<DType> linear,
         const std::vector<std::string>& skip, DeviceMap device_map, std::string offload_folder) {
        const nn::Options o = read_options(dtype, device);
        models::LoadOptions options{.dtype = o.dtype,
                                    .device = o.device,
                                    .skip = skip,
                                    .device_map = std::move(device_map),
                                    .offload_folder = std::move(offload_folder)};
        if (linear) options.linear = *linear;
        return std::static_pointer_cast<CausalLM>(models::load(path, options).ptr());
      },
      nb::arg("path"), nb::arg("dtype").none(), nb::arg("device").none(), nb::arg("linear").none(), nb::arg("skip"),
      nb::arg("device_map") = DeviceMap(), nb::arg("offload_folder") = "");
  m.def(
      "_infer_device_map",
      [](nn::Module& model, int64_t cpu, int64_t disk, const std::vector<std::string>& no_split) {
        return infer_auto_device_map(model, {.cpu = cpu, .disk = disk}, no_split);
      },
      nb::arg("model"), nb::arg("cpu"), nb::arg("disk"), nb::arg("no_split"));
  m.def("_dispatch_model", &dispatch_model, nb::arg("model"), nb::arg("device_map"), nb::arg("folder"));
}

}  // namespace dyadic::inline v1::python
