// dyadic.optim.lr_scheduler: one class for all records (python/dyadic/optim/lr_scheduler.py derives a class per record from
// it), and the schedules that hold others or watch a metric.
#include "dyadic/lr_scheduler.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "options.h"

namespace dyadic::inline v1::python {
namespace {

using optim::LRScheduler;
using optim::Schedule;

nb::dict as_dict(const optim::ScheduleState& state) {
  nb::dict d;
  for (auto& [key, values] : state) d[key.c_str()] = nb::cast(values);
  return d;
}
optim::ScheduleState from_dict(nb::dict d) {
  optim::ScheduleState state;
  for (auto [key, values] : d) state[nb::cast<std::string>(key)] = nb::cast<std::vector<double>>(values);
  return state;
}

std::vector<optim::Factor> read_factors(nb::list functions) {
  std::vector<optim::Factor> out;
  for (nb::handle f : functions) out.emplace_back([f = nb::borrow(f)](int64_t epoch) { return nb::cast<double>(f(epoch)); });
  return out;
}

void make(LRScheduler* self, const std::string& name, optim::Optimizer& optimizer, nb::dict options, nb::list functions) {
  new (self) LRScheduler(name, optimizer, read_options(name, options), read_factors(functions));
}

nb::list records() {
  nb::list all;
  for (const optim::SchedulerDef& def : optim::scheduler_defs()) {
    nb::dict d;
    d["name"] = def.name();
    d["signature"] = def.sig;
    d["doc"] = def.doc;
    d["parameters"] = parameter_list(optim::option_defs(def));
    all.append(d);
  }
  return all;
}

void add_plateau(nb::module_& m) {
  using Floor = std::variant<double, std::vector<double>>;
  using optim::ReduceLROnPlateau;
  nb::class_<ReduceLROnPlateau, Schedule>(
      m, "ReduceLROnPlateau", "Lowers the rates by factor when a metric has not improved for more than patience steps.")
      .def(
          "__init__",
          [](ReduceLROnPlateau* self, optim::Optimizer& optimizer, const std::string& mode, double factor, int64_t patience,
             double threshold, const std::string& threshold_mode, int64_t cooldown, Floor min_lr, double eps) {
            DY_CHECK_AS(ValueError, mode == "min" || mode == "max", "ReduceLROnPlateau: mode is \"{}\"; it is min or max",
                        mode);
            DY_CHECK_AS(ValueError, threshold_mode == "rel" || threshold_mode == "abs",
                        "ReduceLROnPlateau: threshold_mode is \"{}\"; it is rel or abs", threshold_mode);
            std::vector<double> floors = min_lr.index() ? std::get<1>(min_lr) : std::vector<double>{std::get<0>(min_lr)};
            new (self) ReduceLROnPlateau(
                optimizer, {mode == "max", factor, patience, threshold, threshold_mode == "rel", cooldown, floors, eps});
          },
          nb::arg("optimizer"), nb::arg("mode") = "min", nb::arg("factor") = 0.1, nb::arg("patience") = 10,
          nb::arg("threshold") = 1e-4, nb::arg("threshold_mode") = "rel", nb::arg("cooldown") = 0, nb::arg("min_lr") = 0.0,
          nb::arg("eps") = 1e-8, nb::keep_alive<1, 2>())
      .def(
          "step",
          [](ReduceLROnPlateau& s, nb::object metric) {
            s.step(is_tensor(metric.ptr()) ? tensor_of(metric.ptr()).item() : nb::cast<double>(metric));
          },
          nb::arg("metrics"))
      .def_prop_ro("num_bad_epochs", &ReduceLROnPlateau::num_bad_epochs);
}

}  // namespace

void add_schedules(nb::module_& m) {
  nb::class_<Schedule>(m, "LRScheduler", "A schedule of an optimizer's learning rates.")
      .def(
          "step", [](Schedule& s, std::optional<double> epoch) { epoch ? s.step_to(*epoch) : s.step(); },
          nb::arg("epoch") = nb::none(),
          "The next learning rates; after optimizer.step(). With an epoch: as if so many steps had been taken.")
      .def("get_last_lr", &Schedule::get_last_lr)
      .def_prop_ro("last_epoch", &Schedule::last_epoch)
      .def("state_dict", [](Schedule& s) { return as_dict(s.state_dict()); })
      .def("load_state_dict", [](Schedule& s, nb::dict d) { s.load_state_dict(from_dict(d)); }, nb::arg("state_dict"));
  nb::class_<LRScheduler, Schedule>(m, "_LRScheduler", "A schedule made from a record.")
      .def("__init__", make, nb::arg("name"), nb::arg("optimizer"), nb::arg("options"), nb::arg("functions"),
           nb::keep_alive<1, 3>())
      .def("_set_rates", &LRScheduler::set_rates)
      .def_prop_ro("base_lrs", &LRScheduler::base_lrs);
  using Schedules = std::vector<std::shared_ptr<Schedule>>;
  nb::class_<optim::SequentialLR, Schedule>(m, "SequentialLR", "One schedule after another, from milestone to milestone.")
      .def(
          "__init__",
          [](optim::SequentialLR* self, optim::Optimizer& optimizer, Schedules schedulers, std::vector<int64_t> milestones,
             int64_t) { new (self) optim::SequentialLR(optimizer, std::move(schedulers), std::move(milestones)); },
          nb::arg("optimizer"), nb::arg("schedulers"), nb::arg("milestones"), nb::arg("last_epoch") = -1,
          nb::keep_alive<1, 2>());
  nb::class_<optim::ChainedScheduler, Schedule>(m, "ChainedScheduler", "Several schedules at once: their factors multiply.")
      .def(
          "__init__",
          [](optim::ChainedScheduler* self, Schedules schedulers, nb::object) {
            new (self) optim::ChainedScheduler(std::move(schedulers));
          },
          nb::arg("schedulers"), nb::arg("optimizer") = nb::none());
  add_plateau(m);
  m.def("_scheduler_records", records);
}

}  // namespace dyadic::inline v1::python
