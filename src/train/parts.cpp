// Modules and optimizers as parts of a run, and Checkpoint::add for all that are known.
#include "train/parts.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "dyadic/offload.h"
#include "offload/pages.h"
#include "tensor/impl.h"
#include "train/difference.h"
#include "train/json.h"

namespace dyadic::inline v1::train {
namespace {

class ModulePart : public Part {
  nn::Module& module_;

 public:
  explicit ModulePart(nn::Module& module) : module_(module) {}
  State state() override { return {module_.state_dict()}; }
  void load(const State& saved) override {
    const nn::NamedTensors here = module_.state_dict();
    const std::map<std::string, Tensor> mine(here.begin(), here.end());
    nn::NamedTensors fits;
    for (auto& [name, t] : saved.tensors)
      if (auto at = mine.find(name); at != mine.end() && at->second.sizes() == t.sizes()) fits.emplace_back(name, t);
    if (!offloaded_bytes(module_)) return void(module_.load_state_dict(fits, false));
    for (auto& [name, t] : fits) {
      module_.load_state_dict({{name, t}}, false);
      for (const Tensor& read : {t, mine.at(name)})
        if (is_offloaded(read)) offload::Pages(read).drop();
    }
  }
};

}  // namespace

// Whoever is told of them may keep and write them.
State own(const State& saved) {
  State s{{}, saved.json};
  for (auto& [name, t] : saved.tensors) s.tensors.emplace_back(name, t.defined() ? t.clone() : t);
  return s;
}

namespace {

Json option_json(const optim::Option& o) {
  if (o.is_none()) return nullptr;
  return o.numbers.empty() ? Json(o.word) : numbers_json(o.numbers);
}
optim::Option option_of(const Json& j) {
  if (j.is_null()) return {};
  return j.is_string() ? optim::Option(j.get<std::string>()) : optim::Option(numbers_of(j));
}

}  // namespace

std::map<std::string, std::string> state_names(const optim::Optimizer& optimizer, const Modules& modules) {
  std::map<TensorImpl*, std::string> known;  // of a shared one, the first name in the alphabet, whichever was added first
  for (auto& [part, module] : modules)
    for (auto& [name, p] : module->named_parameters()) {
      const std::string full = part + "." + name;
      if (auto [at, is_new] = known.try_emplace(p.impl(), full); !is_new) at->second = std::min(at->second, full);
    }
  std::map<std::string, std::string> names, own;
  std::set<std::string> taken;
  for (const optim::ParamGroup& g : optimizer.groups())
    for (auto& [name, p] : g.params) {
      auto at = known.find(p.impl());
      names[name] = at == known.end() ? name : at->second;
      own[name] = name;
      taken.insert(names[name]);
    }
  return taken.size() == names.size() ? names : own;
}

// The document: the optimizer's kind and steps, and each group with the names and shapes of its parameters and its options.
class OptimizerPart : public Part {
  optim::Optimizer& optimizer_;
  const Modules& modules_;

  std::map<std::string, std::string> names() const { return state_names(optimizer_, modules_); }
  static std::string rename(const std::string& key, const std::map<std::string, std::string>& names) {
    const size_t dot = key.find('.');
    if (dot == key.npos) return key;
    auto at = names.find(key.substr(dot + 1));
    return at == names.end() ? key : key.substr(0, dot + 1) + at->second;
  }
  Json document() const {
    const auto names = this->names();
    Json groups = Json::array();
    for (const optim::ParamGroup& g : optimizer_.groups()) {
      Json one = {{"params", Json::object()},
                  {"options", Json::object()},
                  {"initial_lr", number_json(g.initial_lr)},
                  {"updates", {{"nonzero", g.updates.nonzero}, {"lost", g.updates.lost}}}};
      for (auto& [name, p] : g.params) one["params"][names.at(name)] = p.sizes().vec();
      for (auto& [key, value] : g.options) one["options"][key] = option_json(value);
      groups.push_back(std::move(one));
    }
    return {{"kind", optimizer_.def().name()}, {"step", optimizer_.steps()}, {"groups", std::move(groups)}};
  }
  // Name and shape of each parameter, and what its states are kept in.
  static Described parameters(const Json& document) {
    Described all;
    for (const Json& g : document.at("groups"))
      for (auto& [name, shape] : g.at("params").items())
        all.emplace_back(name, dump_json(shape) + " with states in " + g.at("options").value("state", "nothing"));
    return all;
  }

 public:
  OptimizerPart(optim::Optimizer& optimizer, const Modules& modules) : optimizer_(optimizer), modules_(modules) {}

  State state() override {
    optimizer_.pull(true);
    const auto names = this->names();
    State s;
    for (auto& [key, t] : optimizer_.state_dict()) s.tensors.emplace_back(rename(key, names), t);
    s.json = dump_json(document());
    return s;
  }

  void compare(const std::string& part, const State& saved, Differences& differences) override {
    optimizer_.pull();
    const Json there = parse_json(saved.json), here = document();
    const std::string kind = there.at("kind").get<std::string>(), mine = optimizer_.def().name();
    if (kind != mine) differences.push_back({Difference::Kind::changed, part, "kind", kind, mine, ""});
    compare_names(part, parameters(there), parameters(here), differences);
  }

  void load(const State& saved) override {
    optimizer_.pull(true);
    const Json there = parse_json(saved.json), here = document();
    if (there.at("kind") != here.at("kind")) return;
    const Described theirs = parameters(there), mine = parameters(here);
    const std::set<std::pair<std::string, std::string>> known(mine.begin(), mine.end());
    std::set<std::string> fits;
    for (auto& entry : theirs)
      if (known.contains(entry)) fits.insert(entry.first);
    const auto names = this->names();
    std::map<std::string, std::string> back;
    for (auto& [own, name] : names) back[name] = own;
    nn::NamedTensors states;
    for (auto& [key, t] : saved.tensors) {
      const std::string name = key.substr(key.find('.') + 1);
      if (name.empty() || fits.contains(name)) states.emplace_back(rename(key, back), t);
    }
    optimizer_.load_state_dict(states, there.at("step").get<int64_t>());
    for (optim::ParamGroup& g : optimizer_.groups())
      for (const Json& one : there.at("groups"))
        if (!g.params.empty() && one.at("params").contains(names.at(g.params[0].first))) load_group(g, one);
    optimizer_.push(true);
  }

 private:
  void load_group(optim::ParamGroup& group, const Json& saved) {
    for (auto& [key, value] : saved.at("options").items())
      if (key != "state" && group.options.find(key)) optimizer_.set_option(group, key, option_of(value));
    group.initial_lr = number_of(saved.at("initial_lr"));
    const Json& updates = saved.at("updates");
    group.updates = {updates.at("nonzero").get<int64_t>(), updates.at("lost").get<int64_t>()};
  }
};

std::unique_ptr<Part> module_part(nn::Module& module) { return std::make_unique<ModulePart>(module); }
std::unique_ptr<Part> optimizer_part(optim::Optimizer& optimizer, const Modules& modules) {
  return std::make_unique<OptimizerPart>(optimizer, modules);
}

namespace {

// From and to a JSON value.
template <class Get, class Set> std::unique_ptr<Part> json_part(Get get, Set set) {
  return std::make_unique<Plain>([get] { return State{{}, dump_json(get())}; },
                                 [set](const State& s) { set(parse_json(s.json)); });
}

// A schedule is known by the names in its state: those of its options and of what it holds.
class SchedulePart : public Part {
  optim::Schedule& schedule_;
  static std::string names(const Json& state) {
    std::string all;
    for (auto& [key, values] : state.items()) all += (all.empty() ? "" : ", ") + key;
    return all;
  }

 public:
  explicit SchedulePart(optim::Schedule& schedule) : schedule_(schedule) {}
  State state() override {
    Json j = Json::object();
    for (auto& [key, values] : schedule_.state_dict()) j[key] = numbers_json(values);
    return {{}, dump_json(j)};
  }
  void compare(const std::string& part, const State& saved, Differences& differences) override {
    const std::string there = names(parse_json(saved.json)), here = names(parse_json(state().json));
    if (there != here)
      differences.push_back({Difference::Kind::changed, part, "the schedule", "one of " + there, "one of " + here, ""});
  }
  void load(const State& saved) override {
    const Json j = parse_json(saved.json);
    if (names(j) != names(parse_json(state().json))) return;
    optim::ScheduleState state;
    for (auto& [key, values] : j.items()) state[key] = numbers_of(values);
    schedule_.load_state_dict(state);
  }
};

class StoppingPart : public Part {
  EarlyStopping& stopping_;

 public:
  explicit StoppingPart(EarlyStopping& stopping) : stopping_(stopping) {}
  State state() override { return stopping_.state(); }
  void compare(const std::string& part, const State& saved, Differences& differences) override {
    const nn::NamedTensors here = state().tensors;
    if (!here.empty() && !saved.tensors.empty()) compare_names(part, described(saved.tensors), described(here), differences);
  }
  void load(const State& saved) override { stopping_.load(saved); }
};

}  // namespace

Checkpoint& Checkpoint::add(const std::string& name, nn::Module& module) {
  add(name, module_part(module));
  modules_.emplace_back(name, &module);
  return *this;
}
Checkpoint& Checkpoint::add(const std::string& name, optim::Optimizer& optimizer) {
  return add(name, optimizer_part(optimizer, modules_));
}
std::map<std::string, std::string> Checkpoint::names_of(const optim::Optimizer& optimizer) const {
  return state_names(optimizer, modules_);
}
Checkpoint& Checkpoint::add(const std::string& name, optim::GradScaler& s) {
  return add(name, json_part(
                       [&s] {
                         return Json{{"scale", s.get_scale()},
                                     {"growth_tracker", s.growth_tracker()},
                                     {"skipped", s.skipped()},
                                     {"skipped_in_a_row", s.skipped_in_a_row()}};
                       },
                       [&s](const Json& j) {
                         s.load_state(j.at("scale").get<double>(), j.at("growth_tracker").get<int64_t>(),
                                      j.at("skipped").get<int64_t>(), j.value("skipped_in_a_row", int64_t(0)));
                       }));
}
Checkpoint& Checkpoint::add(const std::string& name, optim::Schedule& s) {
  return add(name, std::make_unique<SchedulePart>(s));
}
Checkpoint& Checkpoint::add(const std::string& name, data::DataLoader& l) {
  return add(name, json_part([&l] { return Json(l.state_dict()); },
                             [&l](const Json& j) { l.load_state_dict(j.get<data::LoaderState>()); }));
}
Checkpoint& Checkpoint::add(const std::string& name, Generator& g) {
  return add(name,
             json_part([&g] { return Json{{"seed", g.state().seed}, {"calls", g.state().calls}}; },
                       [&g](const Json& j) { g.set_state({j.at("seed").get<uint64_t>(), j.at("calls").get<uint64_t>()}); }));
}
Checkpoint& Checkpoint::add(const std::string& name, History& h) {
  return add(name, std::make_unique<Plain>(
                       [&h] {
                         h.sync();
                         return h.state();
                       },
                       [&h](const State& s) { h.load(s); }));
}
Checkpoint& Checkpoint::add(const std::string& name, EarlyStopping& s) { return add(name, std::make_unique<StoppingPart>(s)); }
Checkpoint& Checkpoint::add(const std::string& name, int64_t& n) {
  return add(name, json_part([&n] { return Json(n); }, [&n](const Json& j) { n = j.get<int64_t>(); }));
}
Checkpoint& Checkpoint::add(const std::string& name, double& n) {
  return add(name, json_part([&n] { return number_json(n); }, [&n](const Json& j) { n = number_of(j); }));
}

}  // namespace dyadic::inline v1::train
