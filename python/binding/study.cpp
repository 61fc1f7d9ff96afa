// What dyadic.study is made of. python/dyadic/study.py has the rest.
#include "dyadic/study.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "data.h"
#include "dyadic/interrupt.h"
#include "dyadic/plan.h"
#include "nn.h"
#include "options.h"
#include "study/recipe_apply.h"
#include "study/source.h"
#include "study/words.h"

namespace dyadic::inline v1::python {
namespace {

using study::Recipe;
using study::Study;
using Function = std::shared_ptr<Held>;

Function held(nb::handle o) { return std::make_shared<Held>(nb::borrow(o)); }

// What somebody's function gives. KeyboardInterrupt and SystemExit are no errors of one recipe: they end the study.
template <class F> auto asking(F&& f) {
  return calling_python([&] {
    try {
      return f();
    } catch (const nb::python_error& e) {
      if (!e.matches(PyExc_Exception)) request_interrupt();
      throw;
    }
  });
}

// Any object with __iter__: gone through again and again. A run that goes on passes by what it has had.
class Iterable : public study::Source {
  Function object_;

  class Steps : public study::Stream {
    nb::handle object_;
    nb::object iterator_;
    int64_t position_ = 0;

   public:
    explicit Steps(nb::handle object) : object_(object) {}
    ~Steps() override {
      nb::gil_scoped_acquire gil;
      iterator_.reset();
    }
    data::Value next(int64_t step) override {
      return calling_python([&] {
        nb::object batch;
        while (position_ <= step) batch = advance(), ++position_;
        return foreign_value(batch);
      });
    }

   private:
    nb::object advance() {
      for (int pass = 0; pass < 2; ++pass) {
        if (!iterator_.is_valid()) iterator_ = nb::iter(object_);
        nb::object batch = nb::steal(PyIter_Next(iterator_.ptr()));
        if (batch.is_valid()) return batch;
        if (PyErr_Occurred()) nb::raise_python_error();
        iterator_.reset();
      }
      fail<ValueError>("study: batches: there is none in the {}", Py_TYPE(object_.ptr())->tp_name);
    }
  };

 public:
  explicit Iterable(nb::handle o) : object_(held(o)) {}
  std::unique_ptr<study::Stream> stream() override { return std::make_unique<Steps>(object_->get()); }
  void each(FunctionRef<bool(const data::Value&)> body) override {
    calling_python([&] {
      for (nb::handle batch : nb::borrow(object_->get())) {
        const data::Value value = foreign_value(nb::borrow(batch));
        nb::gil_scoped_release released;
        if (!body(value)) break;
      }
    });
  }
  int64_t size() override {
    return calling_python([&] {
      const Py_ssize_t n = PyObject_LengthHint(object_->get().ptr(), 0);
      if (n < 0) PyErr_Clear();
      return std::max<int64_t>(n, 0);
    });
  }
  std::pair<std::shared_ptr<study::Source>, std::shared_ptr<study::Source>> split() override {
    fail<ValueError>("study: no part of this iterable can be held back to evaluate; pass evaluation: other batches");
  }
};

study::Batches read_batches(nb::handle o) {
  if (o.is_none()) return {};
  if (data::DataLoader* loader = read_loader(o)) return *loader;
  if (nb::isinstance<nb::list>(o) || nb::isinstance<nb::tuple>(o)) {
    std::vector<data::Value> all;
    for (nb::handle batch : o) all.push_back(foreign_value(nb::borrow(batch)));
    return all;
  }
  if (PyIter_Check(o.ptr()) && nb::iter(o).is(o))
    fail<TypeError>(
        "study: batches: a {} ends once it is gone through, and every run begins at the first batch; pass a list, a "
        "DataLoader or a function of the step",
        Py_TYPE(o.ptr())->tp_name);
  if (nb::hasattr(o, "__iter__")) return study::Batches(std::make_shared<Iterable>(o));
  DY_CHECK_AS(TypeError, PyCallable_Check(o.ptr()),
              "study: batches are a DataLoader, a list, another iterable or a function of the step, not a {}",
              Py_TYPE(o.ptr())->tp_name);
  return [f = held(o)](int64_t step) { return asking([&] { return foreign_value(f->get()(step)); }); };
}

// f(model, batch) -> tensor; what: it is called in messages
study::Loss read_loss(nb::handle o, std::string what = "the loss") {
  if (o.is_none()) return {};
  return [f = held(o), what = std::move(what)](Module& model, const data::Value& batch) {
    return asking([&] {
      nb::object result = f->get()(nb::cast(&model, nb::rv_policy::reference), to_object(batch, false));
      DY_CHECK_AS(TypeError, is_tensor(result.ptr()), "study: {} gave a {}, not a tensor", what,
                  Py_TYPE(result.ptr())->tp_name);
      return tensor_of(result.ptr());
    });
  };
}

// f("cpu") or f("meta") -> module
study::MakeModel read_make(nb::handle o) {
  return [f = held(o)](nn::Options options) {
    return asking([&] {
      nb::object model = f->get()(options.device.name());
      DY_CHECK_AS(TypeError, is_module(model), "study: make_model gave a {}, not a Module", Py_TYPE(model.ptr())->tp_name);
      return nb::cast<std::shared_ptr<Module>>(model);
    });
  };
}

template <class T> constexpr const char* kWanted = "a list of names";
template <> constexpr const char* kWanted<bool> = "True or False";
template <> constexpr const char* kWanted<int> = "an integer";
template <> constexpr const char* kWanted<int64_t> = "an integer";
template <> constexpr const char* kWanted<uint64_t> = "an integer of at least 0";
template <> constexpr const char* kWanted<double> = "a number";
template <> constexpr const char* kWanted<std::string> = "a name";
template <> constexpr const char* kWanted<std::vector<Recipe>> = "a list of recipes";

template <class T> T wanted(nb::handle value, const char* name) {
  T out{};
  DY_CHECK_AS(TypeError, nb::try_cast(value, out), "study: {} is {}, not {}", name, nb::repr(value).c_str(), kWanted<T>);
  return out;
}
template <class T> void take(nb::dict given, const char* name, T& out) {
  if (given.contains(name) && !given[name].is_none()) out = wanted<T>(given[name], name);
}
template <class T> void take(nb::dict given, const char* name, std::optional<T>& out) {
  if (given.contains(name) && !given[name].is_none()) out = wanted<T>(given[name], name);
}

study::Minimize minimized(nb::dict given) {
  return nb::cast<std::string>(given["minimize"]) == "time" ? study::Minimize::time : study::Minimize::memory;
}

// What every study that writes a report is asked.
template <class Options> void take_common(nb::dict given, Options& o) {
  take(given, "tolerance", o.tolerance);
  o.minimize = minimized(given);
  take(given, "formats", o.formats);
  take(given, "per_layer", o.per_layer);
  take(given, "name", o.name);
  take(given, "out", o.out);
  take(given, "resume", o.resume);
  take(given, "progress", o.progress);
}

study::StudyOptions read_study_options(nb::dict given) {
  study::StudyOptions o;
  take_common(given, o);
  o.evaluation = read_batches(given.get("evaluation", nb::none()));
  if (nb::object metric = given.get("metric", nb::none()); !metric.is_none()) {
    o.metric.name = wanted<std::string>(metric.attr("name"), "the metric's name");
    o.metric.function = read_loss(metric.attr("function"), "the metric " + o.metric.name);
    o.metric.larger_is_better = nb::cast<bool>(metric.attr("larger_is_better"));
    o.metric.root = nb::cast<bool>(metric.attr("root"));
  }
  take(given, "steps", o.steps);
  take(given, "time", o.time_s);
  take(given, "optimizer", o.optimizer);
  o.optimizer_options = read_options(o.optimizer, nb::cast<nb::dict>(given["optimizer_options"]));
  take(given, "schedule", o.schedule);
  o.schedule_options = read_options(o.schedule, nb::cast<nb::dict>(given["schedule_options"]));
  take(given, "clip", o.clip);
  take(given, "seeds", o.seeds);
  take(given, "seed", o.seed);
  take(given, "recipes", o.recipes);
  take(given, "shadow", o.shadow);
  std::string device = o.device.name();
  take(given, "device", device);
  o.device = Device::parse(device);
  take(given, "memory_limit", o.memory_limit);
  return o;
}

// Ctrl-C sets a flag that long work looks at; Python's own handler comes back.
struct Interruptible {
  Interruptible() {
    clear_interrupt();
    install_interrupt_handler();
  }
  ~Interruptible() {
    remove_interrupt_handler();
    clear_interrupt();
  }
};

Study run(nb::handle make_model, nb::handle batches, nb::handle loss, nb::dict given) {
  const study::StudyOptions o = read_study_options(given);
  const study::Batches b = read_batches(batches);
  const study::MakeModel make = read_make(make_model);
  const study::Loss l = read_loss(loss);
  const Interruptible scope;
  nb::gil_scoped_release released;
  return study::study(make, b, l, o);
}

Study run_formats(nb::handle model, nb::handle evaluate, std::vector<std::string> formats, std::string metric,
                  bool larger_is_better, double tolerance, std::string name, std::string out) {
  const study::FormatsOptions o{.formats = std::move(formats),
                                .metric = std::move(metric),
                                .larger_is_better = larger_is_better,
                                .tolerance = tolerance,
                                .name = std::move(name),
                                .out = std::move(out)};
  const study::Evaluate call = [&](Module&) { return asking([&] { return tensor_of(evaluate(model).ptr()); }); };
  Module& m = nb::cast<Module&>(model);
  const Interruptible scope;
  nb::gil_scoped_release released;
  return study::formats(m, call, o);
}

Study run_language_model(const std::string& path, nb::dict given) {
  study::LanguageModelOptions o;
  take_common(given, o);
  take(given, "data", o.data);
  take(given, "methods", o.methods);
  take(given, "window", o.window);
  take(given, "samples", o.samples);
  take(given, "calibration", o.calibration);
  const Interruptible scope;
  nb::gil_scoped_release released;
  return study::language_model(path, o);
}

nb::tuple run_predict(nb::handle make_model, nb::object batch, nb::handle loss, std::vector<Recipe> recipes,
                      std::string optimizer, nb::dict optimizer_options) {
  study::PredictOptions o{.loss = read_loss(loss), .recipes = std::move(recipes), .optimizer = std::move(optimizer)};
  o.optimizer_options = read_options(o.optimizer, optimizer_options);
  const study::MakeModel make = read_make(make_model);
  const data::Value value = foreign_value(batch);
  std::vector<study::Prediction> found;
  {
    nb::gil_scoped_release released;
    found = study::predict(make, value, o);
  }
  nb::list rows;
  for (const study::Prediction& p : found) {
    const study::Bytes& b = p.bytes;
    nb::dict row;
    row["recipe"] = p.recipe;
    for (auto& [key, amount] : {std::pair{"parameters", b.parameters},
                                {"gradients", b.gradients},
                                {"optimizer", b.optimizer},
                                {"activations", b.activations},
                                {"workspace", b.workspace},
                                {"peak", b.peak}})
      row[key] = *amount.predicted;
    row["flops_per_step"] = p.flops_per_step;
    row["fits"] = p.fits;
    rows.append(row);
  }
  return nb::make_tuple(rows, study::text(found));
}

MemoryPlan run_plan(nb::handle make_model, nb::object batch, nb::handle loss, Recipe recipe, std::string optimizer,
                    nb::dict optimizer_options, int64_t memory_limit, std::string offload_folder,
                    std::vector<std::string> allow) {
  PlanOptions o{.loss = read_loss(loss),
                .recipe = std::move(recipe),
                .optimizer = std::move(optimizer),
                .memory_limit = memory_limit,
                .offload_folder = std::move(offload_folder),
                .allow = std::move(allow)};
  o.optimizer_options = read_options(o.optimizer, optimizer_options);
  const study::MakeModel make = read_make(make_model);
  const data::Value value = foreign_value(batch);
  nb::gil_scoped_release released;
  return plan(make, value, o);
}

void add_plan(nb::module_& t) {
  nb::class_<PlanCandidate>(t, "Candidate", "One way to train: what it changes, what it takes.")
      .def_ro("name", &PlanCandidate::name, "What it does, in words.")
      .def_ro("repeated_calls", &PlanCandidate::again, "Calls of forward that backward makes again.")
      .def_ro("accumulate", &PlanCandidate::accumulate, "Equal pieces of a batch whose gradients are added.")
      .def_ro("on_disk", &PlanCandidate::on_disk,
              "Parameters and states lie on disk: dispatch_model(model, {\"\": \"disk\"}, offload_dir=...).")
      .def_ro("activations_on_disk", &PlanCandidate::activations_on_disk,
              "Bytes of what backward needs that forward writes to a file in offload_folder, and backward reads.")
      .def_ro("moved", &PlanCandidate::moved, "Bytes that a step reads from and writes to disk.")
      .def_ro("states", &PlanCandidate::states, "The dtype of the optimizer's states.")
      .def_ro("exact", &PlanCandidate::exact, "Whether the bits are those of training without a plan.")
      .def_ro("allowed", &PlanCandidate::allowed, "Whether it is exact, or what it changes was asked for.")
      .def_ro("fits", &PlanCandidate::fits, "Whether its peak is within the limit.")
      .def_ro("seconds", &PlanCandidate::seconds, "Predicted, of a step.")
      .def_prop_ro("peak", &PlanCandidate::peak, "Bytes, predicted, of all tensors at once.")
      .def_prop_ro(
          "bytes",
          [](const PlanCandidate& c) {
            nb::dict row;
            for (auto& [key, amount] : {std::pair{"parameters", c.bytes.parameters},
                                        {"gradients", c.bytes.gradients},
                                        {"optimizer", c.bytes.optimizer},
                                        {"activations", c.bytes.activations},
                                        {"workspace", c.bytes.workspace}})
              row[key] = *amount.predicted;
            return row;
          },
          "Predicted peaks by category.");
  nb::class_<MemoryPlan>(t, "MemoryPlan", "The part of a plan that is C++'s.")
      .def_ro("limit", &MemoryPlan::limit)
      .def_ro("candidates", &MemoryPlan::candidates)
      .def("fits", &MemoryPlan::fits)
      .def("chosen", [](const MemoryPlan& p) { return p.chosen(); })
      .def("least", &MemoryPlan::least, nb::arg("allowed") = true)
      .def("text", &MemoryPlan::text, nb::arg("width") = 100, nb::arg("color") = false);
  nb::class_<Recomputing>(t, "Recomputing", "A forward by a plan, while it lives.").def(nb::init<const PlanCandidate&>());
  t.def("plan", run_plan, nb::arg("make_model"), nb::arg("batch"), nb::arg("loss").none(), nb::arg("recipe"),
        nb::arg("optimizer"), nb::arg("optimizer_options"), nb::arg("memory_limit"), nb::arg("offload_folder"),
        nb::arg("allow"));
}

}  // namespace

void add_recipe(nb::module_& t);  // recipe.cpp

void add_study(nb::module_& m) {
  const auto file = nb::cast<std::string>(nb::module_::import_("dyadic").attr("__file__"));
  study::g_package_folder = file.substr(0, file.rfind('/') + 1);
  nb::module_ t = m.def_submodule("_study", "What dyadic.study is made of.");
  add_recipe(t);
  add_plan(t);
  nb::class_<Study>(t, "Study", "The part of dyadic.study.Study that is C++'s.")
      .def("text", &Study::text, nb::arg("width") = 100, nb::arg("color") = false, "The tables as text.")
      .def("html", &Study::html, "The page of report.html.")
      .def("json", &Study::json, "report.json as text.")
      .def_ro("folder", &Study::folder)
      .def_ro("interrupted", &Study::interrupted);
  t.def("run", run, nb::arg("make_model"), nb::arg("batches"), nb::arg("loss"), nb::arg("options"));
  t.def("formats", run_formats, nb::arg("model"), nb::arg("evaluate"), nb::arg("formats"), nb::arg("metric"),
        nb::arg("larger_is_better"), nb::arg("tolerance"), nb::arg("name"), nb::arg("out"));
  t.def("language_model", run_language_model, nb::arg("path"), nb::arg("options"));
  t.def("predict", run_predict, nb::arg("make_model"), nb::arg("batch"), nb::arg("loss").none(), nb::arg("recipes"),
        nb::arg("optimizer"), nb::arg("optimizer_options"));
}

}  // namespace dyadic::inline v1::python
