// dyadic.optim: AdamW with its parameter groups, GradScaler, the warm-up and cosine schedule.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "dyadic/optim.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

using optim::AdamW;
using optim::AdamWOptions;
using optim::GradScaler;
using optim::ParamGroup;

DType state_dtype(nb::handle o) {
  auto d = read_dtype(o.ptr());
  DY_CHECK_AS(TypeError, d, "AdamW: state is {}; it takes \"f32\" or \"dynamic8\"", Py_TYPE(o.ptr())->tp_name);
  return *d;
}

// One option by PyTorch's name.
void set_option(AdamWOptions& o, const std::string& key, nb::handle value) {
  if (key == "lr")
    o.lr = nb::cast<double>(value);
  else if (key == "betas")
    std::tie(o.beta1, o.beta2) = nb::cast<std::pair<double, double>>(value);
  else if (key == "eps")
    o.eps = nb::cast<double>(value);
  else if (key == "weight_decay")
    o.weight_decay = nb::cast<double>(value);
  else if (key == "state")
    o.state = state_dtype(value);
  else if (key == "stochastic_rounding")
    o.stochastic_rounding = nb::cast<bool>(value);
  else if (key == "seed")
    o.seed = nb::cast<uint64_t>(value);
  else
    fail<ValueError>("AdamW: an unknown option: {}; there are lr, betas, eps, weight_decay, state, stochastic_rounding, seed",
                     key);
}
nb::object get_option(const ParamGroup& g, const std::string& key) {
  const AdamWOptions& o = g.options;
  if (key == "params") {
    nb::list l;
    for (auto& [name, t] : g.params) l.append(nb::steal(wrap(t)));
    return l;
  }
  if (key == "names") {
    nb::list l;
    for (auto& [name, t] : g.params) l.append(name);
    return l;
  }
  if (key == "lr") return nb::float_(o.lr);
  if (key == "betas") return nb::make_tuple(o.beta1, o.beta2);
  if (key == "eps") return nb::float_(o.eps);
  if (key == "weight_decay") return nb::float_(o.weight_decay);
  if (key == "state") return nb::steal(wrap(o.state));
  if (key == "stochastic_rounding") return nb::bool_(o.stochastic_rounding);
  if (key == "seed") return nb::int_(o.seed);
  throw nb::key_error(key.c_str());
}

// Tensors are named by their position, (name, tensor) pairs as they say.
nn::NamedTensors read_params(nb::handle params, size_t& count) {
  nn::NamedTensors out;
  DY_CHECK_AS(TypeError, !is_tensor(params.ptr()), "AdamW: params is a Tensor; it takes a list of them");
  for (nb::handle p : params) {
    std::string name = std::to_string(count++);
    if (PyTuple_Check(p.ptr()) && PyTuple_GET_SIZE(p.ptr()) == 2) {
      name = nb::cast<std::string>(p[0]);
      out.emplace_back(name, nb::cast<Tensor>(p[1]));
    } else {
      DY_CHECK_AS(TypeError, is_tensor(p.ptr()),
                  "AdamW: params holds {}; it takes Tensors, (name, Tensor) pairs or dicts of groups",
                  Py_TYPE(p.ptr())->tp_name);
      out.emplace_back(name, tensor_of(p.ptr()));
    }
    DY_CHECK_AS(ValueError, out.back().second.is_leaf(), "AdamW: a parameter is not a leaf: {} was made by {}", name,
                out.back().second.grad_fn());
  }
  return out;
}

std::vector<ParamGroup> read_groups(nb::object params, const AdamWOptions& options) {
  std::vector<ParamGroup> groups;
  size_t count = 0;
  DY_CHECK_AS(TypeError, !is_tensor(params.ptr()), "AdamW: params is a Tensor; it takes a list of them");
  nb::list all(params);
  DY_CHECK_AS(ValueError, nb::len(all) > 0, "AdamW: the list of parameters is empty");
  if (!PyDict_Check(all[0].ptr())) {
    groups.push_back({read_params(all, count), options});
    return groups;
  }
  for (nb::handle g : all) {
    DY_CHECK_AS(TypeError, PyDict_Check(g.ptr()), "AdamW: the groups are not all dicts");
    ParamGroup group{{}, options};
    for (auto [k, v] : nb::borrow<nb::dict>(g)) {
      std::string key = nb::cast<std::string>(k);
      if (key == "params")
        group.params = read_params(v, count);
      else
        set_option(group.options, key, v);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

nb::dict state_dict(AdamW& o) {
  nb::dict d, state;
  for (auto& [name, t] : o.state_dict()) state[name.c_str()] = t;
  d["step"] = o.steps();
  d["state"] = state;
  return d;
}
void load_state_dict(AdamW& o, nb::dict d) {
  DY_CHECK_AS(ValueError, d.contains("step") && d.contains("state"), "AdamW: the state has no \"step\" or no \"state\"");
  nn::NamedTensors state;
  for (auto [k, v] : nb::cast<nb::dict>(d["state"])) state.emplace_back(nb::cast<std::string>(k), nb::cast<Tensor>(v));
  o.load_state_dict(state, nb::cast<int64_t>(d["step"]));
}

nb::list groups_of(nb::handle self) {
  nb::list l;
  for (ParamGroup& g : nb::cast<AdamW&>(self).groups()) l.append(nb::cast(&g, nb::rv_policy::reference_internal, self));
  return l;
}

void add_adamw(nb::module_& m) {
  nb::class_<ParamGroup>(m, "ParamGroup", "Parameters and their options, as group[\"lr\"].")
      .def("__getitem__", get_option)
      .def("__setitem__", [](ParamGroup& g, const std::string& key, nb::handle v) { set_option(g.options, key, v); })
      .def("keys", [](ParamGroup&) {
        return nb::make_tuple("params", "names", "lr", "betas", "eps", "weight_decay", "state", "stochastic_rounding", "seed");
      });
  nb::class_<AdamW>(
      m, "AdamW",
      "Adam with decoupled weight decay, one fused pass over memory. state=\"dynamic8\" keeps both moments in blockwise 8-bit "
      "formats for tensors of at least 4096 elements, but those named in keep32.")
      .def(
          "__init__",
          [](AdamW* self, nb::object params, double lr, std::pair<double, double> betas, double eps, double weight_decay,
             nb::object state, bool stochastic_rounding, uint64_t seed, std::vector<std::string> keep32) {
            AdamWOptions o;
            o.lr = lr;
            std::tie(o.beta1, o.beta2) = betas;
            o.eps = eps;
            o.weight_decay = weight_decay;
            o.state = state_dtype(state);
            o.stochastic_rounding = stochastic_rounding;
            o.seed = seed;
            new (self) AdamW(read_groups(params, o), std::move(keep32));
          },
          nb::arg("params"), nb::arg("lr") = 1e-3, nb::arg("betas") = std::pair(0.9, 0.999), nb::arg("eps") = 1e-8,
          nb::arg("weight_decay") = 0.01, nb::kw_only(), nb::arg("state") = "f32", nb::arg("stochastic_rounding") = false,
          nb::arg("seed") = 0, nb::arg("keep32") = std::vector<std::string>())
      .def(
          "step",
          [](AdamW& o, double grad_scale) {
            Unlocked unlocked;
            o.step(grad_scale);
          },
          nb::arg("grad_scale") = 1.0,
          "Moves every parameter that has a gradient; grad_scale multiplies the gradients on the way.")
      .def("zero_grad", &AdamW::zero_grad, nb::arg("set_to_none") = true)
      .def("set_lr", &AdamW::set_lr, nb::arg("lr"))
      .def_prop_ro("steps", &AdamW::steps)
      .def_prop_ro("param_groups", groups_of)
      .def(
          "lost_updates", [](AdamW& o) { return o.updates().share(); },
          "The share of nonzero steps that rounded to nothing since clear_updates().")
      .def("clear_updates", &AdamW::clear_updates)
      .def("state_dict", state_dict)
      .def("load_state_dict", load_state_dict, nb::arg("state_dict"));
}

void add_scaler(nb::module_& m) {
  nb::class_<GradScaler>(m, "GradScaler",
                         "Dynamic loss scaling for f16: a step with infinite or NaN gradients is skipped and lowers the scale.")
      .def(
          "__init__",
          [](GradScaler* s, double init_scale, double growth, double backoff, int64_t interval, bool enabled) {
            new (s) GradScaler(init_scale, enabled);
            s->growth_factor = growth;
            s->backoff_factor = backoff;
            s->growth_interval = interval;
          },
          nb::arg("init_scale") = 65536.0, nb::arg("growth_factor") = 2.0, nb::arg("backoff_factor") = 0.5,
          nb::arg("growth_interval") = 2000, nb::arg("enabled") = true)
      .def("scale", &GradScaler::scale, nb::arg("loss"))
      .def("unscale_", &GradScaler::unscale_, nb::arg("optimizer"))
      .def("step", &GradScaler::step, nb::arg("optimizer"), nb::arg("grad_scale") = 1.0, "False if the step was skipped.")
      .def("update", &GradScaler::update)
      .def("get_scale", &GradScaler::get_scale)
      .def_prop_ro("skipped", &GradScaler::skipped)
      .def("state_dict",
           [](GradScaler& s) {
             nb::dict d;
             d["scale"] = s.get_scale();
             d["growth_tracker"] = s.growth_tracker();
             d["skipped"] = s.skipped();
             return d;
           })
      .def(
          "load_state_dict",
          [](GradScaler& s, nb::dict d) {
            s.load_state(nb::cast<double>(d["scale"]), nb::cast<int64_t>(d["growth_tracker"]), nb::cast<int64_t>(d["skipped"]));
          },
          nb::arg("state_dict"));
}

}  // namespace

void add_optimizers(nb::module_& m) {
  add_adamw(m);
  add_scaler(m);
  m.def(
      "grad_norm",
      [](nb::object params) {
        size_t count = 0;
        return optim::grad_norm(read_params(params, count));
      },
      nb::arg("params"), "The 2-norm of all gradients.");
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
