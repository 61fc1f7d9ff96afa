// dyadic.optim: optimizers (python/dyadic/optim/__init__.py derives a class per record from _Optimizer), GradScaler, norms of
// gradients, the warm-up and cosine schedule.
#include "dyadic/optim.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "optim/grad_ops.h"
#include "optim_groups.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::python {

using optim::GradScaler;
using optim::Option;
using optim::OptionDef;

Option read_option(const std::string& who, const std::string& name, nb::handle value) {
  if (value.is_none()) return {};
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (is_dtype(value.ptr())) return *read_dtype(value.ptr());
  if (auto n = read_number(value.ptr())) return n->real();
  if (is_tensor(value.ptr())) return tensor_of(value.ptr()).item();
  DY_CHECK_AS(TypeError, PyTuple_Check(value.ptr()) || PyList_Check(value.ptr()),
              "{}: {} is {}; it takes a number, a tuple of numbers, a word or a dtype", who, name,
              Py_TYPE(value.ptr())->tp_name);
  std::vector<double> numbers;
  for (nb::handle v : value) numbers.push_back(v.is_none() ? NAN : nb::cast<double>(v));
  return numbers;
}
nb::object option_object(const OptionDef& def, const Option& value) {
  if (value.is_none()) return nb::none();
  if (def.type == "dtype") return nb::steal(wrap(DType::parse(value.word)));
  if (def.type == "str") return nb::cast(value.word);
  if (def.type == "bool") return nb::bool_(value.numbers[0] != 0);
  if (def.type == "int") return nb::int_(int64_t(value.numbers[0]));
  if (def.type == "float") return nb::float_(value.numbers[0]);
  nb::list l;
  for (double v : value.numbers) l.append(v != v ? nb::object(nb::none()) : nb::object(nb::float_(v)));
  return nb::tuple(l);
}
optim::Options read_options(const std::string& who, nb::dict given) {
  optim::Options out;
  for (auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    out.set(name, read_option(who, name, value));
  }
  return out;
}
nb::list parameter_list(const std::vector<OptionDef>& defs) {
  nb::list all;
  for (const OptionDef& d : defs) all.append(nb::make_tuple(d.name, d.type, d.fallback_text, d.keyword_only));
  return all;
}

namespace {

nb::list records() {
  nb::list all;
  for (const optim::OptimizerDef* def : optim::optimizer_defs()) {
    nb::dict d;
    d["name"] = def->name();
    d["signature"] = def->sig;
    d["doc"] = def->doc;
    d["parameters"] = parameter_list(optim::option_defs(*def));
    all.append(d);
  }
  return all;
}

// The parameters' names, by groups.
nb::list names_of(PyOptimizer& o) {
  o.pull();
  nb::list all;
  for (const optim::ParamGroup& g : o.groups()) {
    nb::list names;
    for (auto& [name, p] : g.params) names.append(name);
    all.append(names);
  }
  return all;
}

// A recorded step reads options each time: a rate that is a tensor has not been read on the way.
void pull_unwatched(PyOptimizer& o) {
  struct Back {
    StepWatcher* watcher = std::exchange(t_step_watcher, nullptr);
    ~Back() { t_step_watcher = watcher; }
  } const back;
  o.pull();
}

void add_optimizer(nb::module_& m) {
  nb::class_<PyOptimizer>(m, "_Optimizer", "The part of an optimizer that is C++'s; its owner has groups and states.")
      .def(nb::init<nb::handle, const std::string&>(), nb::arg("owner"), nb::arg("name"))
      .def("step", &PyOptimizer::step, nb::arg("closure") = nb::none(), nb::kw_only(), nb::arg("grad_scale") = 1.0,
           "Moves every parameter that has a gradient; grad_scale multiplies the gradients on the way. A closure computes the "
           "loss "
           "and its gradients anew and returns the loss.")
      .def(
          "zero_grad",
          [](PyOptimizer& o, bool set_to_none) {
            pull_unwatched(o);
            o.zero_grad(set_to_none);
          },
          nb::arg("set_to_none") = true)
      .def(
          "set_lr",
          [](PyOptimizer& o, double lr) {
            o.pull();
            o.set_lr(lr);
            o.push();
          },
          nb::arg("lr"))
      .def("count_step",
           [](PyOptimizer& o) {
             o.pull();
             o.count_step();
           })
      .def_prop_ro("steps",
                   [](const PyOptimizer& o) {
                     note_refusal("an optimizer is asked for the number of its steps");
                     return o.steps();
                   })
      .def(
          "lost_updates",
          [](PyOptimizer& o, std::optional<size_t> group) {
            DY_CHECK_AS(IndexError, !group || *group < o.groups().size(), "{}: lost_updates: there are {} groups, not {}",
                        o.def().name(), o.groups().size(), group.value_or(0) + 1);
            return group ? o.groups()[*group].updates.share() : o.updates().share();
          },
          nb::arg("group") = nb::none(),
          "The share of nonzero steps that rounded to nothing since clear_updates(), of all groups or of one.")
      .def("clear_updates", &PyOptimizer::clear_updates)
      .def(
          "train",
          [](PyOptimizer& o, bool mode) {
            o.pull(true);
            o.train(mode);
            o.push(true);
          },
          nb::arg("mode") = true,
          "Of schedule-free optimizers: parameters are where gradients are taken; train(False) or eval() makes them the "
          "average.")
      .def("names", names_of)
      .def(
          "pull", [](PyOptimizer& o, bool states) { o.pull(states); }, nb::arg("states") = false)
      .def(
          "push", [](PyOptimizer& o, bool states) { o.push(states); }, nb::arg("states") = false)
      .def("keep32", [](PyOptimizer& o, std::vector<std::string> names) { o.keep32(std::move(names)); })
      .def("set_steps", &PyOptimizer::set_steps, nb::arg("steps"))
      .def("load_flat_state", &PyOptimizer::load_flat_state, nb::arg("state_dict"));
  m.def("_optimizer_records", records);
}

// `again` of two objects, who end the recorded steps that have it when they are gone.
nb::object run_part(const char* name, nb::callable again, nb::handle a, nb::handle b) {
  const StepPart part(name, [again] { again(); }, a.ptr(), b.ptr());
  return again();
}

void add_scaler(nb::module_& m) {
  auto named = [](nb::list params) {
    size_t count = 0;
    return read_params("GradScaler", params, count);
  };
  nb::class_<GradScaler>(m, "GradScaler",
                         "Dynamic loss scaling for f16: a step with infinite or NaN gradients is skipped and lowers the scale.")
      .def(
          "__init__",
          [](GradScaler* s, double init_scale, double growth, double backoff, int64_t interval, bool enabled, int64_t skips) {
            new (s) GradScaler({init_scale, growth, backoff, interval, skips, enabled});
          },
          nb::arg("init_scale"), nb::arg("growth_factor"), nb::arg("backoff_factor"), nb::arg("growth_interval"),
          nb::arg("enabled"), nb::arg("max_skips"))
      .def(
          "_scale", [](GradScaler& s, const Tensor& t) { return s.scale(t); }, nb::arg("output"))
      .def(
          "_unscale",
          [named](GradScaler& s, size_t optimizer, nb::list params) {
            s.unscale_(reinterpret_cast<const void*>(optimizer), named(params));
          },
          nb::arg("optimizer"), nb::arg("params"))
      .def(
          "_may_step",
          [named](GradScaler& s, size_t optimizer, nb::list params) {
            return s.may_step(reinterpret_cast<const void*>(optimizer), named(params));
          },
          nb::arg("optimizer"), nb::arg("params"))
      .def("_update", [](GradScaler& s) { s.update(); })
      .def(
          "_update", [](GradScaler& s, double scale) { s.update(scale); }, nb::arg("new_scale"))
      .def("get_scale", &GradScaler::get_scale, "The factor; 1 where scaling is off.")
      .def("is_enabled", &GradScaler::is_enabled)
      .def_rw("_growth_factor", &GradScaler::growth_factor)
      .def_rw("_backoff_factor", &GradScaler::backoff_factor)
      .def_rw("_growth_interval", &GradScaler::growth_interval)
      .def_prop_ro("_growth_tracker", &GradScaler::growth_tracker)
      .def_prop_ro("skipped", &GradScaler::skipped, "Steps that were skipped.")
      .def_prop_ro("_skipped_in_a_row", &GradScaler::skipped_in_a_row)
      .def("_load", &GradScaler::load_state, nb::arg("scale"), nb::arg("growth_tracker"), nb::arg("skipped"),
           nb::arg("skipped_in_a_row"));
}

// f64 where a tensor is.
DType norm_dtype(const std::vector<Tensor>& of) {
  const bool wide = std::any_of(of.begin(), of.end(), [](const Tensor& t) { return t.defined() && t.dtype() == f64; });
  return wide ? f64 : f32;
}
Tensor norm_tensor(double norm, const std::vector<Tensor>& of) { return full({}, norm, norm_dtype(of)); }

}  // namespace

void add_optimizers(nb::module_& m) {
  add_optimizer(m);
  add_schedules(m);
  add_scaler(m);
  auto named = [](const char* who, nb::object params) {
    size_t count = 0;
    return read_params(who, params, count);
  };
  m.def(
      "grad_norm", [named](nb::object params) { return optim::grad_norm(named("grad_norm", params)); }, nb::arg("params"),
      "The 2-norm of all gradients.");
  m.def(
      "_clip_grad_norm_",
      [named](nb::object params, double max_norm, double norm_type) {
        const nn::NamedTensors all = named("clip_grad_norm_", params);
        std::vector<Tensor> gradients;
        for (auto& [name, p] : all)
          if (const Tensor g = p.grad(); g.defined()) gradients.push_back(g);
        if (t_step_watcher) return optim::clip_in_calls(gradients, max_norm, norm_type).to(norm_dtype(gradients));
        return norm_tensor(optim::clip_grad_norm_(all, max_norm, norm_type), gradients);
      },
      nb::arg("parameters"), nb::arg("max_norm"), nb::arg("norm_type"));
  m.def(
      "_clip_grad_value_",
      [named](nb::object params, double limit) { optim::clip_grad_value_(named("clip_grad_value_", params), limit); },
      nb::arg("parameters"), nb::arg("clip_value"));
  m.def(
      "_total_norm",
      [](std::vector<Tensor> tensors, double norm_type) { return norm_tensor(optim::total_norm(tensors, norm_type), tensors); },
      nb::arg("tensors"), nb::arg("norm_type"));
  m.def("_is_written_down", [] { return t_step_watcher != nullptr; }, "Whether this run of a step is.");
  m.def("_run_part", run_part, nb::arg("name"), nb::arg("again"), nb::arg("of"), nb::arg("and_of"),
        "again(), and each time in place of the recorded step's part.");
  m.def("clip_factor", &optim::clip_factor, nb::arg("norm"), nb::arg("max_norm"),
        "What brings norm down to max_norm: for step(grad_scale).");
  nb::class_<optim::WarmupCosine>(m, "WarmupCosine",
                                  "lr(step): a linear warm-up to peak, then a cosine down to floor at total.")
      .def(
          "__init__",
          [](optim::WarmupCosine* w, double peak, double floor, int64_t warmup, int64_t total) {
            new (w) optim::WarmupCosine{peak, floor, warmup, total};
          },
          nb::arg("peak") = 1e-3, nb::arg("floor") = 1e-4, nb::arg("warmup") = 100, nb::arg("total") = 1000)
      .def("__call__", &optim::WarmupCosine::operator(), nb::arg("step"));
}

}  // namespace dyadic::inline v1::python
