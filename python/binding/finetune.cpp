// Fine-tuning and distillation: what dyadic.finetune and dyadic.distill are made of. _finetune.py and distill.py have the rest.
#include "dyadic/distill.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "models.h"

namespace dyadic::inline v1::python {
namespace {

using namespace tune;

// By their names in FinetuneOptions; _finetune.py gives all of them.
FinetuneOptions options_of(const nb::dict& given) {
  FinetuneOptions o;
  const auto read = [&](const char* name, auto& to) { to = nb::cast<std::decay_t<decltype(to)>>(given[name]); };
  const auto text = [&](const char* name) { return nb::cast<std::string>(given[name]); };
  read("context", o.context), read("packing", o.packing), read("steps", o.steps), read("epochs", o.epochs);
  read("batch", o.batch), read("accumulate", o.accumulate), read("lr", o.lr), read("warmup", o.warmup);
  read("weight_decay", o.weight_decay), read("clip", o.clip), read("optimizer", o.optimizer);
  read("eval_split", o.eval_split), read("eval_every", o.eval_every), read("checkpoint_every", o.checkpoint_every);
  read("seed", o.seed), read("out", o.out), read("resume", o.resume), read("keep_zeros", o.keep_zeros),
      read("model_path", o.model_path);
  read("progress", o.progress);
  read("memory_limit", o.memory_limit);
  o.too_long = parse_too_long(text("too_long")), o.merge = parse_merge(text("merge"));
  read("shards", o.shards);
  o.spread = distributed::parse_spread(text("spread"));
  if (!given["wire"].is_none()) o.wire = nb::cast<DType>(given["wire"]);
  if (!given["state"].is_none()) o.state = nb::cast<DType>(given["state"]);
  if (!given["compute"].is_none()) o.compute = nb::cast<DType>(given["compute"]);
  if (!given["lora"].is_none()) o.lora = parse_lora(text("lora"));
  return o;
}

nb::dict dict_of(const MemoryUse& m) {
  nb::dict d;
  d["parameters"] = m.parameters, d["gradients"] = m.gradients, d["optimizer"] = m.optimizer, d["activations"] = m.activations;
  d["peak"] = m.peak;
  return d;
}
nb::dict dict_of(const FinetuneReport& r) {
  nb::dict d;
  d["finished"] = r.finished, d["steps"] = r.steps, d["samples"] = r.samples, d["rows"] = r.rows;
  d["eval_samples"] = r.eval_samples, d["tokens"] = r.tokens, d["learned"] = r.learned, d["cut"] = r.cut;
  d["dropped"] = r.dropped, d["split"] = r.split, d["trained"] = r.trained, d["train_loss"] = r.train_loss;
  d["eval_loss_before"] = r.eval_loss_before, d["eval_loss"] = r.eval_loss, d["seconds"] = r.seconds;
  d["shards"] = r.shards, d["sent_per_step"] = r.sent_per_step;
  d["predicted"] = dict_of(r.predicted), d["repeated_calls"] = r.repeated_calls;
  nb::list merges;
  for (const MergeChoice& m : r.merges) {
    nb::dict one;
    one["into"] = merge_name(m.into), one["error"] = m.error, one["loss"] = m.loss, one["bytes"] = m.bytes,
    one["chosen"] = m.chosen;
    merges.append(one);
  }
  d["merges"] = merges;
  return d;
}

// Calls a Python function with (step, steps, loss, lr, tokens_per_s, eval_loss); False ends the run.
bool tell(void* function, const Step& s) {
  const nb::object goes_on = (*static_cast<nb::object*>(function))(s.step, s.steps, s.loss, s.lr, s.tokens_per_s, s.eval_loss);
  return goes_on.is_none() || nb::cast<bool>(goes_on);
}

// The same for both: what a run has beside its model, options and loss.
struct Given {
  FinetuneOptions options;
  Data data;
  Given(const nb::dict& o, const std::string& jsonl, const std::string& name, const std::optional<std::string>& eval,
        nb::object& on_step)
      : options(options_of(o)), data{jsonl, name} {
    if (eval) options.eval = Data{*eval, "eval"};
    if (!on_step.is_none()) options.on_step = tell, options.caller = &on_step;
  }
};

DistillOptions distill_options_of(const nb::dict& given) {
  DistillOptions o;
  const auto read = [&](const char* name, auto& to) { to = nb::cast<std::decay_t<decltype(to)>>(given[name]); };
  read("temperature", o.temperature), read("share", o.share), read("hidden", o.hidden), read("relations", o.relations);
  read("hidden_weight", o.hidden_weight), read("relation_weight", o.relation_weight), read("heads", o.heads);
  read("cache", o.cache), read("top_k", o.top_k);
  return o;
}

}  // namespace

void add_finetune(nb::module_& m) {
  m.def(
      "_finetune",
      [](models::CausalLM& model, const Tokenizer& tokenizer, const std::string& jsonl, const std::string& name,
         const nb::dict& options, const std::optional<std::string>& eval, nb::object on_step) {
        const Given given(options, jsonl, name, eval, on_step);
        return dict_of(finetune(model, tokenizer, given.data, given.options));
      },
      nb::arg("model"), nb::arg("tokenizer"), nb::arg("jsonl"), nb::arg("name"), nb::arg("options"), nb::arg("eval").none(),
      nb::arg("on_step").none());
  m.def(
      "_distill",
      [](models::CausalLM& model, const Tokenizer& tokenizer, const std::string& jsonl, const std::string& name,
         const nb::dict& options, const std::optional<std::string>& eval, nb::object on_step, models::CausalLM* teacher,
         const nb::dict& distillation) {
        const Given given(options, jsonl, name, eval, on_step);
        return dict_of(distill(model, teacher, tokenizer, given.data, distill_options_of(distillation), given.options));
      },
      nb::arg("model"), nb::arg("tokenizer"), nb::arg("jsonl"), nb::arg("name"), nb::arg("options"), nb::arg("eval").none(),
      nb::arg("on_step").none(), nb::arg("teacher").none(), nb::arg("distillation"));
  m.def("_distillation_loss", distillation_loss, nb::arg("student"), nb::arg("teacher"), nb::arg("temperature"));
  m.def("_hidden_loss", hidden_loss, nb::arg("student"), nb::arg("teacher"));
  m.def(
      "_relation_loss",
      [](const Tensor& student, const Tensor& teacher, int64_t heads, std::optional<Tensor> mask) {
        return relation_loss(student, teacher, heads, mask ? *mask : Tensor());
      },
      nb::arg("student"), nb::arg("teacher"), nb::arg("heads"), nb::arg("mask").none());
  m.def(
      "_finetune_memory",
      [](models::CausalLM& model, const nb::dict& options) { return dict_of(predict(model, options_of(options))); },
      nb::arg("model"), nb::arg("options"));
  m.def("_finetune_data", [](const std::string& path) { return read_data(path).jsonl; }, nb::arg("path"));
}

}  // namespace dyadic::inline v1::python
