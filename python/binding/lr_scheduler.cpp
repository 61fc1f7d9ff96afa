// dyadic.optim.lr_scheduler: one class for all schedules; those of python/dyadic/optim/lr_scheduler.py say which one it is.
#include "dyadic/lr_scheduler.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "optim_groups.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::python {
namespace {

using optim::ReduceLROnPlateau;
using optim::Schedule;
using Schedules = std::vector<std::shared_ptr<Schedule>>;

struct PySchedule {
  std::shared_ptr<Schedule> schedule;

  // For a program, which gets or gives numbers.
  Schedule& get() const {
    note_refusal("a schedule is asked for its numbers, or given some");
    return own();
  }
  Schedule& own() const {
    DY_CHECK(schedule, "LRScheduler: a schedule is used before super().__init__(optimizer) has run");
    return *schedule;
  }
  template <class S> S& as(const char* what) const {
    auto* s = dynamic_cast<S*>(&get());
    if (!s) throw nb::attribute_error(what);
    return *s;
  }
};

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

void make(PySchedule& self, const std::string& name, PyOptimizer& optimizer, nb::dict options, nb::list functions) {
  self.schedule = std::make_shared<optim::LRScheduler>(name, optimizer, read_options(name, options), read_factors(functions));
}
Schedules read_schedules(nb::list schedulers) {
  Schedules all;
  for (nb::handle s : schedulers) {
    DY_CHECK_AS(TypeError, nb::isinstance<PySchedule>(s), "LRScheduler: schedulers holds {}; it takes schedules",
                Py_TYPE(s.ptr())->tp_name);
    nb::cast<PySchedule&>(s).get();
    all.push_back(nb::cast<PySchedule&>(s).schedule);
  }
  return all;
}
void make_plateau(PySchedule& self, PyOptimizer& optimizer, const std::string& mode, double factor, int64_t patience,
                  double threshold, const std::string& threshold_mode, int64_t cooldown, std::vector<double> min_lr,
                  double eps) {
  DY_CHECK_AS(ValueError, mode == "min" || mode == "max", "ReduceLROnPlateau: mode is \"{}\"; it is min or max", mode);
  DY_CHECK_AS(ValueError, threshold_mode == "rel" || threshold_mode == "abs",
              "ReduceLROnPlateau: threshold_mode is \"{}\"; it is rel or abs", threshold_mode);
  self.schedule = std::make_shared<ReduceLROnPlateau>(
      optimizer, optim::PlateauOptions{mode == "max", factor, patience, threshold, threshold_mode == "rel", cooldown,
                                       std::move(min_lr), eps});
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

}  // namespace

void add_schedules(nb::module_& m) {
  nb::class_<PySchedule>(m, "_Schedule", "A schedule of an optimizer's learning rates.")
      .def(nb::init<>())
      .def("_make", make, nb::arg("name"), nb::arg("optimizer"), nb::arg("options"), nb::arg("functions"))
      .def(
          "_make_sequence",
          [](PySchedule& s, PyOptimizer& optimizer, nb::list schedulers, std::vector<int64_t> milestones) {
            s.schedule = std::make_shared<optim::SequentialLR>(optimizer, read_schedules(schedulers), std::move(milestones));
          },
          nb::arg("optimizer"), nb::arg("schedulers"), nb::arg("milestones"))
      .def(
          "_make_chain",
          [](PySchedule& s, nb::list schedulers) {
            s.schedule = std::make_shared<optim::ChainedScheduler>(read_schedules(schedulers));
          },
          nb::arg("schedulers"))
      .def("_make_plateau", make_plateau, nb::arg("optimizer"), nb::arg("mode"), nb::arg("factor"), nb::arg("patience"),
           nb::arg("threshold"), nb::arg("threshold_mode"), nb::arg("cooldown"), nb::arg("min_lr"), nb::arg("eps"))
      .def(
          "step", [](PySchedule& s, std::optional<double> epoch) { epoch ? s.own().step_to(*epoch) : s.own().step(); },
          nb::arg("epoch") = nb::none(),
          "The next learning rates; after optimizer.step(). With an epoch: as if so many steps had been taken.")
      .def(
          "_step",
          [](PySchedule& s, double metric) { s.as<ReduceLROnPlateau>("_step: of ReduceLROnPlateau alone").step(metric); },
          nb::arg("metric"))
      .def("get_last_lr", [](PySchedule& s) { return s.get().get_last_lr(); })
      .def_prop_rw(
          "last_epoch", [](PySchedule& s) { return s.get().last_epoch(); },
          [](PySchedule& s, int64_t epoch) {
            if (s.schedule) s.schedule->set_last_epoch(epoch);  // super().__init__() takes it, too
          })
      .def("_set_rates",
           [](PySchedule& s) { s.as<optim::LRScheduler>("_set_rates: of a schedule with rates of its own").set_rates(); })
      .def_prop_rw(
          "_last_lr", [](PySchedule& s) { return s.get().get_last_lr(); },
          [](PySchedule& s, std::vector<double> rates) {
            if (s.schedule) s.schedule->set_last_lr(std::move(rates));
          })
      .def("_get_lr", [](PySchedule& s) { return s.as<optim::LRScheduler>("get_lr: this schedule has none").get_lr(); })
      .def_prop_rw(
          "base_lrs", [](PySchedule& s) { return s.as<optim::LRScheduler>("base_lrs: this schedule has none").base_lrs(); },
          [](PySchedule& s, std::vector<double> rates) {
            s.as<optim::LRScheduler>("base_lrs: this schedule has none").set_base_lrs(std::move(rates));
          })
      .def("state_dict", [](PySchedule& s) { return as_dict(s.get().state_dict()); })
      .def("load_state_dict", [](PySchedule& s, nb::dict d) { s.get().load_state_dict(from_dict(d)); }, nb::arg("state_dict"));
  m.def("_scheduler_records", records);
}

}  // namespace dyadic::inline v1::python
