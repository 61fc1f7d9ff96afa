// Parameter groups of optimizers, and the state that goes by their names.
#include "optim_groups.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace dyadic::inline v1::python {
namespace {

using optim::Optimizer;
using optim::OptionDef;

// optimizer.param_groups[i]: reads and writes the optimizer's own group.
struct Group {
  nb::object optimizer;
  size_t index;

  Optimizer& owner() const { return nb::cast<Optimizer&>(optimizer); }
  optim::ParamGroup& group() const { return owner().groups()[index]; }
};

// What a group holds beside its options: a dict per group, of the optimizer's Python object.
nb::dict extras(const Group& g) { return nb::cast<nb::dict>(nb::object(g.optimizer.attr("_extras"))[g.index]); }

// "names", under which states are kept, is there to be read; PyTorch's "param_names" are those that were given.
nb::list group_keys(const Group& g) {
  nb::list keys;
  keys.append("params");
  for (const OptionDef& d : optim::option_defs(g.owner().def())) keys.append(d.name);
  if (g.group().initial_lr == g.group().initial_lr) keys.append("initial_lr");
  for (auto [key, value] : extras(g)) keys.append(key);
  return keys;
}
nb::object group_item(const Group& g, const std::string& key) {
  const optim::ParamGroup& group = g.group();
  if (key == "initial_lr" && group.initial_lr == group.initial_lr) return nb::float_(group.initial_lr);
  if (key == "params" || key == "names") {
    nb::list l;
    for (auto& [name, t] : group.params) l.append(key == "names" ? nb::object(nb::cast(name)) : nb::steal(wrap(t)));
    return l;
  }
  for (const OptionDef& d : optim::option_defs(g.owner().def()))
    if (d.name == key) return option_object(d, *group.options.find(key));
  const nb::dict more = extras(g);
  if (more.contains(key.c_str())) return more[key.c_str()];
  throw nb::key_error(key.c_str());
}
void set_group_item(Group& g, const std::string& key, nb::handle value) {
  if (key == "initial_lr") {
    g.group().initial_lr = nb::cast<double>(value);
    return;
  }
  for (const OptionDef& d : optim::option_defs(g.owner().def()))
    if (d.name == key) return g.owner().set_option(g.group(), key, read_option(g.owner().def().name(), key, value));
  DY_CHECK_AS(ValueError, key != "params" && key != "names", "{}: a group's {} are not set; add_param_group() adds some",
              g.owner().def().name(), key);
  extras(g)[key.c_str()] = value;
}

optim::ParamGroup read_group(const std::string& who, nb::dict given, size_t& count) {
  optim::ParamGroup group;
  DY_CHECK_AS(ValueError, given.contains("params"), "{}: a group has no \"params\"", who);
  for (auto [k, v] : given) {
    const std::string key = nb::cast<std::string>(k);
    if (key == "params")
      group.params = read_params(who, v, count);
    else if (key == "initial_lr")
      group.initial_lr = nb::cast<double>(v);
    else if (key != "names")
      group.options.set(key, read_option(who, key, v));
  }
  return group;
}

// The saved groups name parameters; another model's are refused even if it has no states yet.
void check_names(const Optimizer& o, nb::list groups) {
  std::set<std::string> there, here;
  for (nb::handle g : groups) {
    const auto group = nb::cast<nb::dict>(g);
    if (!group.contains("names")) return;
    for (nb::handle name : nb::object(group["names"])) there.insert(nb::cast<std::string>(name));
  }
  for (const optim::ParamGroup& g : o.groups())
    for (auto& [name, p] : g.params) here.insert(name);
  std::vector<std::string> missing, unexpected;
  std::set_difference(here.begin(), here.end(), there.begin(), there.end(), std::back_inserter(missing));
  std::set_difference(there.begin(), there.end(), here.begin(), here.end(), std::back_inserter(unexpected));
  DY_CHECK_AS(ValueError, missing.empty() && unexpected.empty(),
              "{}: the saved state is of other parameters: not saved [{}], not here [{}]; is it the same model?",
              o.def().name(), fmt::join(missing, ", "), fmt::join(unexpected, ", "));
}
}  // namespace

nn::NamedTensors read_params(const std::string& who, nb::handle params, size_t& count) {
  nn::NamedTensors out;
  auto add = [&](nb::handle p) {
    std::string name = std::to_string(count++);
    if (PyTuple_Check(p.ptr()) && PyTuple_GET_SIZE(p.ptr()) == 2) {
      name = nb::cast<std::string>(p[0]);
      out.emplace_back(name, nb::cast<Tensor>(p[1]));
    } else {
      DY_CHECK_AS(TypeError, is_tensor(p.ptr()),
                  "{}: params holds {}; it takes Tensors, (name, Tensor) pairs or dicts of groups", who,
                  Py_TYPE(p.ptr())->tp_name);
      out.emplace_back(name, tensor_of(p.ptr()));
    }
    DY_CHECK_AS(ValueError, out.back().second.is_leaf(), "{}: a parameter is not a leaf: {} was made by {}", who, name,
                out.back().second.grad_fn());
  };
  if (is_tensor(params.ptr()))
    add(params);
  else
    for (nb::handle p : params) add(p);
  return out;
}

std::vector<optim::ParamGroup> read_groups(const std::string& who, nb::object params) {
  size_t count = 0;
  DY_CHECK_AS(TypeError, !is_tensor(params.ptr()), "{}: params is a Tensor; it takes a list of them", who);
  nb::list all(params);
  DY_CHECK_AS(ValueError, nb::len(all) > 0, "{}: the list of parameters is empty", who);
  std::vector<optim::ParamGroup> groups;
  if (!PyDict_Check(all[0].ptr())) {
    groups.push_back({read_params(who, all, count), {}});
    return groups;
  }
  for (nb::handle g : all) {
    DY_CHECK_AS(TypeError, PyDict_Check(g.ptr()), "{}: the groups are not all dicts", who);
    groups.push_back(read_group(who, nb::borrow<nb::dict>(g), count));
  }
  return groups;
}
void add_param_group(Optimizer& o, nb::dict group) {
  size_t count = 0;
  for (auto& g : o.groups()) count += g.params.size();
  o.add_param_group(read_group(o.def().name(), group, count));
}

nb::list groups_of(nb::handle self) {
  nb::list l;
  for (size_t i = 0; i < nb::cast<Optimizer&>(self).groups().size(); ++i) l.append(nb::cast(Group{nb::borrow(self), i}));
  return l;
}

namespace {

struct Owner {  // of a state: its group, and the parameter (none of LBFGS, which has one state for all)
  const optim::ParamGroup* group;
  Tensor p;
};
Owner owner_of(const Optimizer& o, const std::string& name) {
  for (const optim::ParamGroup& g : o.groups())
    for (auto& [key, p] : g.params)
      if (key == name) return {&g, p};
  DY_CHECK_AS(ValueError, name.empty(), "{}: no parameter is called {}", o.def().name(), name);
  return {&o.groups()[0], {}};
}
bool is_number(const Optimizer& o, const std::string& key, const Tensor& value, const Owner& owner) {
  if (!owner.p.defined()) return value.dim() == 0;
  const std::string all = fmt::format(" {} ", o.def().numbers);
  return all.find(" " + key + " ") != all.npos;
}
nb::object scalar(double v) { return nb::cast(full({}, v, double(float(v)) == v || v != v ? f32 : f64)); }

}  // namespace

nb::list state_names(Optimizer& o) {
  nb::list all;
  for (auto& [name, s] : o.states())
    if (!s.tensors.empty() || !s.numbers.empty() || (o.def().counted && s.steps > 0)) all.append(name);
  return all;
}
nb::dict state_of(Optimizer& o, const std::string& name) {
  nb::dict d;
  auto it = o.states().find(name);
  if (it == o.states().end()) return d;
  const Owner owner = owner_of(o, name);
  if (o.def().counted) d["step"] = scalar(double(it->second.steps));
  for (auto& [key, v] : it->second.numbers) d[key.c_str()] = scalar(v);
  for (auto& [key, t] : it->second.tensors) {
    const bool flat = owner.p.defined() && t.dim() == 1 && t.numel() == owner.p.numel() && !t.dtype().is_blocked();
    d[key.c_str()] = flat ? t.view(owner.p.sizes()) : t;
  }
  if (!owner.p.defined()) d["n_iter"] = it->second.steps;
  return d;
}
void set_state_of(Optimizer& o, const std::string& name, const std::string& key, const Tensor& value) {
  NoGrad guard;
  const Owner owner = owner_of(o, name);
  optim::ParamState& s = o.states()[name];
  if (key == (owner.p.defined() ? "step" : "n_iter")) {
    s.steps = value.item<int64_t>();
  } else if (is_number(o, key, value, owner)) {
    s.numbers[key] = value.item();
  } else if (!owner.p.defined()) {
    s.tensors[key] = value.detach();
  } else {
    const bool flat = !value.dtype().is_blocked() && value.sizes() == owner.p.sizes();
    const Tensor kept = o.kept_as(*owner.group, name, owner.p, value);
    s.tensors[key] = flat ? kept.contiguous().view({-1}) : kept;
  }
}
void forget_state_of(Optimizer& o, const std::string& name, const std::string& key) {
  auto it = o.states().find(name);
  if (it == o.states().end()) return;
  if (key.empty()) return void(o.states().erase(it));
  if (key == "step") it->second.steps = 0;
  it->second.numbers.erase(key);
  it->second.tensors.erase(key);
}

// The form that files of earlier versions have: "step", and states flat, as "exp_avg.<name>". Options of groups are taken where
// there are as many groups.
void load_optimizer_state(nb::handle self, nb::dict d) {
  auto& o = nb::cast<Optimizer&>(self);
  const std::string who = o.def().name();
  DY_CHECK_AS(ValueError, d.contains("step") && d.contains("state"), "{}: the state has no \"step\" or no \"state\"", who);
  if (d.contains("param_groups")) check_names(o, nb::cast<nb::list>(d["param_groups"]));
  nn::NamedTensors state;
  for (auto [k, v] : nb::cast<nb::dict>(d["state"])) state.emplace_back(nb::cast<std::string>(k), nb::cast<Tensor>(v));
  o.load_state_dict(state, nb::cast<int64_t>(d["step"]));
  if (!d.contains("param_groups")) return;
  nb::list groups = nb::cast<nb::list>(d["param_groups"]);
  if (groups.size() != o.groups().size()) return;
  for (size_t i = 0; i < groups.size(); ++i) {
    Group g{nb::borrow(self), i};
    for (auto [key, value] : nb::cast<nb::dict>(groups[i]))
      if (nb::cast<std::string>(key) != "names") set_group_item(g, nb::cast<std::string>(key), value);
  }
}

void add_param_groups(nb::module_& m) {
  nb::class_<Group>(m, "ParamGroup", "Parameters and their options, as group[\"lr\"].")
      .def("__getitem__", group_item)
      .def("__setitem__", set_group_item, nb::arg("key"), nb::arg("value").none())
      .def("__delitem__", [](Group& g, nb::str key) { extras(g).attr("__delitem__")(key); })
      .def("__iter__", [](const Group& g) { return group_keys(g).attr("__iter__")(); })
      .def("__len__", [](const Group& g) { return group_keys(g).size(); })
      .def("__contains__", [](const Group& g, const std::string& key) { return group_keys(g).attr("__contains__")(key); })
      .def("keys", group_keys)
      .def("__repr__", [](const Group& g) {
        nb::dict d;
        for (nb::handle key : group_keys(g))
          if (nb::cast<std::string>(key) != "params") d[key] = group_item(g, nb::cast<std::string>(key));
        return nb::repr(d);
      });
}

}  // namespace dyadic::inline v1::python
