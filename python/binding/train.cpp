// What dyadic.train is made of: checkpoints of runs, early stopping, histories of metrics. python/dyadic/train/ has the rest.
#include "dyadic/train.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "data.h"
#include "dyadic/progress.h"
#include "nn.h"
#include "optim_groups.h"
#include "train/parts.h"

namespace dyadic::inline v1::python {
namespace {

using train::Checkpoint;
using train::Difference;
using train::EarlyStopping;
using train::History;
using train::Metrics;

nb::object state_module() { return nb::module_::import_("dyadic.train._state"); }

// A Python object by its state_dict() and load_state_dict(). The Checkpoint's own __dict__ keeps it alive.
class PythonPart : public train::Part {
  nb::handle object_;

 public:
  explicit PythonPart(nb::handle object) : object_(object) {}
  train::State state() override {
    return calling_python([&] {
      auto [json, tensors] = nb::cast<std::pair<std::string, nn::NamedTensors>>(state_module().attr("pack")(object_));
      return train::State{std::move(tensors), std::move(json)};
    });
  }
  void compare(const std::string& part, const train::State& saved, train::Differences& differences) override {
    calling_python([&] {
      for (nb::handle found : state_module().attr("compare")(object_, saved.json, saved.tensors)) {
        auto [name, there, here] = nb::cast<std::tuple<std::string, std::string, std::string>>(found);
        differences.push_back({Difference::Kind::changed, part, name, there, here, ""});
      }
    });
  }
  void load(const train::State& saved) override {
    calling_python([&] { state_module().attr("unpack")(object_, saved.json, train::own(saved).tensors); });
  }
};

nb::list difference_list(const train::Differences& differences) {
  nb::list all;
  for (const Difference& d : differences) {
    const char* kind = d.kind == Difference::Kind::missing      ? "missing"
                       : d.kind == Difference::Kind::unexpected ? "unexpected"
                                                                : "changed";
    all.append(nb::make_tuple(kind, d.part, d.name, d.there, d.here, d.nearest, d.str()));
  }
  return all;
}
nb::object loaded(const std::optional<Checkpoint::Resumed>& r) {
  if (!r) return nb::none();
  return nb::make_tuple(r->path, r->step, r->metrics, difference_list(r->differences));
}

// With Python's lock free meanwhile: a part that needs it takes it.
template <class F> auto unlocked(F&& f) {
  nb::gil_scoped_release released;
  return f();
}

void add_part(Checkpoint& c, const std::string& name, nb::handle o, bool native) {
  if (native && nb::isinstance<Module>(o)) {
    c.add(name, nb::cast<Module&>(o));
  } else if (native && nb::isinstance<PyOptimizer>(o)) {
    c.add(name, nb::cast<PyOptimizer&>(o));
  } else if (nb::isinstance<Generator>(o)) {
    c.add(name, nb::cast<Generator&>(o));
  } else if (nb::isinstance<History>(o)) {
    c.add(name, nb::cast<History&>(o));
  } else if (nb::isinstance<EarlyStopping>(o)) {
    c.add(name, nb::cast<EarlyStopping&>(o));
  } else {
    c.add(name, std::make_unique<PythonPart>(o));
  }
}

void add_checkpoint(nb::module_& t) {
  nb::class_<Checkpoint>(t, "Checkpoint", "The part of dyadic.train.Checkpoint that is C++'s.")
      .def(
          "__init__",
          [](Checkpoint* self, std::string folder, std::string name, int keep, std::string best, bool maximize,
             int64_t shard_bytes, bool background) {
            new (self)
                Checkpoint(std::move(folder), {std::move(name), keep, std::move(best), maximize, shard_bytes, background});
          },
          nb::arg("folder"), nb::arg("name"), nb::arg("keep"), nb::arg("best"), nb::arg("maximize"), nb::arg("shard_bytes"),
          nb::arg("background"))
      .def("_add", add_part, nb::arg("name"), nb::arg("part"), nb::arg("native"))
      .def(
          "_names_of",
          [](Checkpoint& c, PyOptimizer& o) {
            o.pull();
            return c.names_of(o);
          },
          nb::arg("optimizer"))
      .def("_config", &Checkpoint::config, nb::arg("json"))
      .def(
          "_save", [](Checkpoint& c, int64_t step, const Metrics& m) { unlocked([&] { c.save(step, m); }); }, nb::arg("step"),
          nb::arg("metrics"))
      .def(
          "_save_file",
          [](Checkpoint& c, const std::string& path, int64_t step, const Metrics& m) {
            unlocked([&] { c.save_file(path, step, m); });
          },
          nb::arg("path"), nb::arg("step"), nb::arg("metrics"))
      .def("_wait", [](Checkpoint& c) { unlocked([&] { c.wait(); }); })
      .def(
          "_resume", [](Checkpoint& c, bool strict) { return loaded(unlocked([&] { return c.resume(strict); })); },
          nb::arg("strict"))
      .def(
          "_load_best", [](Checkpoint& c, bool strict) { return loaded(unlocked([&] { return c.load_best(strict); })); },
          nb::arg("strict"))
      .def(
          "_load",
          [](Checkpoint& c, const std::string& path, bool strict) {
            return loaded(unlocked([&] { return std::optional(c.load(path, strict)); }));
          },
          nb::arg("path"), nb::arg("strict"))
      .def("_list", [](Checkpoint& c) {
        nb::list all;
        for (auto& f : c.folder().list()) all.append(nb::make_tuple(f.step, f.path));
        return all;
      });
}

void add_early_stopping(nb::module_& t) {
  nb::class_<EarlyStopping>(t, "EarlyStopping", "The part of dyadic.train.EarlyStopping that is C++'s.")
      .def(
          "__init__",
          [](EarlyStopping* self, int64_t patience, double min_delta, bool maximize, Module* module) {
            new (self) EarlyStopping({patience, min_delta, maximize}, module);
          },
          nb::arg("patience"), nb::arg("min_delta"), nb::arg("maximize"), nb::arg("restore_best").none(),
          nb::keep_alive<1, 5>())
      .def("_update", &EarlyStopping::update, nb::arg("metric"))
      .def("restore", &EarlyStopping::restore, "The module becomes what it was at its best.")
      .def_prop_ro("stopped", &EarlyStopping::stopped)
      .def_prop_ro("best", &EarlyStopping::best)
      .def_prop_ro("updates", &EarlyStopping::updates)
      .def_prop_ro("best_update", &EarlyStopping::best_update);
}

void add_history(nb::module_& t) {
  nb::class_<History>(t, "History", "The part of dyadic.train.History that is C++'s.")
      .def(
          "__init__",
          [](History* self, std::string csv, std::string tensorboard) {
            new (self) History({std::move(csv), std::move(tensorboard)});
          },
          nb::arg("csv"), nb::arg("tensorboard"))
      .def("_log", &History::log, nb::arg("step"), nb::arg("values"))
      .def("_text", &History::text, nb::arg("tag"), nb::arg("text"), nb::arg("step"))
      .def("column", &History::column, nb::arg("name"), "(step, value) of each row that has it.")
      .def("sync", &History::sync, "All rows are on the disk when it returns.")
      .def("__len__", [](History& h) { return h.rows().size(); })
      .def_prop_ro("rows", [](History& h) {
        nb::list all;
        for (const History::Row& row : h.rows()) {
          nb::dict d;
          d["step"] = row.step;
          for (auto& [name, value] : row.values) d[name.c_str()] = value;
          all.append(d);
        }
        return all;
      });
}

void add_progress(nb::module_& t) {
  using train::Progress;
  nb::class_<Progress>(t, "Progress", "The part of dyadic.train.Progress that is C++'s.")
      .def(
          "__init__",
          [](Progress* self, const std::string& name, int64_t steps, int64_t first_step) {
            new (self) Progress();
            self->begin(name, steps, first_step);
          },
          nb::arg("name"), nb::arg("steps"), nb::arg("first_step"))
      .def("_step", &Progress::step, nb::arg("done"), nb::arg("loss"), nb::arg("tokens_per_s"))
      .def(
          "note", [](Progress& p, const std::string& line) { p.note(line); }, nb::arg("line"),
          "A line that stays, above the bar.")
      .def("_end", [](Progress& p, const std::string& line) { p.end(line); }, nb::arg("line"));
}

}  // namespace

void add_train(nb::module_& m) {
  nb::module_ t = m.def_submodule("_train", "What dyadic.train is made of.");
  add_checkpoint(t);
  add_early_stopping(t);
  add_history(t);
  add_progress(t);
}

}  // namespace dyadic::inline v1::python
