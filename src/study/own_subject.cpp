#include "study/own_subject.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/sha256.h"
#include "dyadic/ops.h"
#include "study/evaluate.h"
#include "study/identity.h"
#include "study/recipe_apply.h"
#include "study/warmup.h"
#include "tensor/impl.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::study {
namespace {

// The same module without memory: a dry run allocates nothing.
void to_meta(nn::Module& model) {
  NoGrad guard;
  std::set<TensorImpl*> seen;
  for (auto& [path, module] : model.named_modules())
    for (auto* slots : {&module->own_parameters(), &module->own_buffers()})
      for (auto& [name, slot] : *slots) {
        if (!slot->defined() || !seen.insert(slot->impl()).second) continue;
        CategoryScope scope(slot->impl()->storage->category);
        const bool trained = slot->requires_grad();
        slot->requires_grad_(false);
        become_view(*slot, make_tensor(slot->sizes(), slot->dtype(), meta));
        if (trained) slot->requires_grad_();
      }
}

// Recipes begin from f32. The dtype that the model was made in; none where that was f32 already.
DType bring_to_f32(nn::Module& model) {
  NoGrad guard;
  DType made;
  for (auto& [path, module] : model.named_modules())
    for (auto* slots : {&module->own_parameters(), &module->own_buffers()})
      for (auto& [name, slot] : *slots) {
        if (!slot->defined() || !slot->dtype().is_floating_point() || slot->dtype().is_scaled() || slot->dtype() == f32)
          continue;
        const bool parameter = slots == &module->own_parameters();
        if (!parameter && slot->dtype() == f64) continue;
        DY_CHECK_AS(ValueError, slot->dtype() != f64,
                    "study: {}{}{} is f64, and a study compares with f32; make the model in f32", path, path.empty() ? "" : ".",
                    name);
        if (parameter) made = slot->dtype();
        CategoryScope scope(slot->impl()->storage->category);
        const bool trained = slot->requires_grad();
        slot->requires_grad_(false);
        become_view(*slot, slot->detach().to(f32));
        if (trained) slot->requires_grad_();
      }
  return made;
}

// What a batch holds is data, whoever makes it. Says of the first batch that is not like the example what it is.
class Watched : public Stream {
  std::unique_ptr<Stream> stream_;
  const Example& example_;
  const int64_t last_rows_;
  std::string& unlike_;

 public:
  Watched(std::unique_ptr<Stream> stream, const Example& example, int64_t last_rows, std::string& unlike)
      : stream_(std::move(stream)), example_(example), last_rows_(last_rows), unlike_(unlike) {}
  data::Value next(int64_t step) override {
    const CategoryScope scope(Category::data);
    data::Value batch = stream_->next(step);
    if (unlike_.empty() && !example_.like(batch)) {
      const Example other(batch);
      if (!last_rows_ || other.rows() != last_rows_) unlike_ = fmt::format("that of step {} is {}", step, other.text());
    }
    return batch;
  }
  void add_to(train::Checkpoint& run) override { stream_->add_to(run); }
};

// Steps of matrices are what 8-bit states are for; rows of a table are hit too seldom.
std::vector<std::string> tables(nn::Module& model) {
  std::vector<std::string> names;
  for (auto& [path, module] : model.named_modules())
    if (std::string_view(module->kind()) == "Embedding") names.push_back(path.empty() ? "weight" : path + ".weight");
  return names;
}

}  // namespace

OwnSubject::OwnSubject(MakeModel make, const Batches& batches, Loss loss, const StudyOptions& options)
    : make_(std::move(make)), loss_(std::move(loss)), options_(options) {
  DY_CHECK_AS(ValueError, batches, "study: there are no batches");
  if (options.evaluation) {
    training_ = batches.source();
    evaluation_ = options.evaluation.source();
  } else {
    std::tie(training_, evaluation_) = batches.source()->split();
  }
  NoGrad guard;
  manual_seed(options.seed);
  std::shared_ptr<nn::Module> model;
  const auto find = [&](const char* name, const std::string& value) { found_.emplace_back(name, value); };
  const auto find_mean = [&](const char* name, const Tensor& t) { find(name, fmt::format("{:.9g}", mean(t.to(f64)).item())); };
  example_ = Example(*training_, [&](const data::Value& batch) {
    first_ = &batch;
    model = this->make(recipe("f32"), cpu);
    kind_ = model->kind();
    parameters_ = model->num_parameters();
    model->eval();
    Digest digest;
    digest.add(batch);
    const Tensor l = losses(*model, batch, nullptr);
    const int64_t rows = distributed::sample_count(batch);
    DY_CHECK_AS(ValueError, l.numel() > 1 || rows <= 1,
                "study: the loss gave one number for a batch of {}; leave its mean to the study (reduction=\"none\")", rows);
    items_ = l.numel();
    window_ = l.numel() / l.size(0);
    find("first batch", digest.hex());
    find_mean("first loss", l);
    first_ = nullptr;
  });
  const Metric& judge = options.metric;
  find("metric", judge.name +
                     (judge.name.empty()       ? ""
                      : judge.larger_is_better ? ", larger is better"
                                               : ", smaller is better") +
                     (judge.root ? ", the root of its mean" : ""));
  Digest digest;
  bool first = true;
  evaluation_->each([&](const data::Value& batch) {
    digest.add(batch);
    if (std::exchange(first, false) && judge.function) {
      const Tensor values = metric(*model, batch);
      const int64_t items = losses(*model, batch, nullptr).numel(), found = values.numel();
      DY_CHECK_AS(ValueError, found == items || found * window_ == items,
                  "study: the metric {} gave {} numbers for {} samples; let it give one for each", judge.name, found,
                  items / window_);
      find_mean("first metric", values);
    }
    return true;
  });
  find("evaluation", digest.hex());
}

OwnSubject::OwnSubject(MakeModel make, const data::Value& example, const Loss& loss, const StudyOptions& options, bool in_f32)
    : make_(std::move(make)), loss_(loss), options_(options), in_f32_(in_f32), example_(example) {
  if (!loss_)
    loss_ = [](nn::Module& model, const data::Value& b) {
      return mean(model(b.kind() == data::Value::Kind::tensor ? b : b[0]).to(f32), {});
    };
}

// A module whose parameters are made at its first call (LazyLinear) is called once.
void OwnSubject::begin(nn::Module& model, Device device) const {
  const nn::NamedTensors parameters = model.named_parameters();
  if (std::none_of(parameters.begin(), parameters.end(), [](auto& p) { return p.second.numel() == 0; })) return;
  const NoGrad guard;
  const InEvaluation evaluating(model);
  loss_(model, first_ ? *first_ : device.is_meta() ? example_.blank() : example_.zeros());
}

void OwnSubject::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

// Runs of one seed begin from the same weights, unless these come from elsewhere than the generator.
void OwnSubject::compare_weights(const nn::Module& model, GeneratorState seeded) {
  Digest digest;
  for (auto& [name, p] : model.named_parameters()) digest.add(p);
  const auto [at, fresh] = begun_.emplace(std::pair(seeded.seed, seeded.calls), digest.hex());
  if (!fresh && at->second != digest.hex())
    note(
        "make_model made other weights from the same seed: they are not of the library's random numbers alone, and recipes do "
        "not begin alike.");
}

std::shared_ptr<nn::Module> OwnSubject::make(const Recipe& recipe, Device device) {
  const GeneratorState seeded = generator_state();
  std::shared_ptr<nn::Module> model = make_({f32, device.is_meta() ? meta : cpu});  // the same weights on all devices
  DY_CHECK_AS(TypeError, model, "study: make_model gave no module");
  DY_CHECK_AS(ValueError, model != last_.lock(), "study: make_model gave the same module again; it makes a new one each time");
  last_ = model;
  if (device.is_meta()) to_meta(*model);
  begin(*model, device);
  if (in_f32_)
    if (const DType made = bring_to_f32(*model); made)
      note(fmt::format("The model was made in {}: recipes begin from its values in f32.", made.name()));
  if (in_f32_ && !device.is_meta()) compare_weights(*model, seeded);
  if (device.is_cuda()) model->to(device);
  store_parameters(*model, recipe);
  return model;
}

std::unique_ptr<optim::Optimizer> OwnSubject::optimizer(const nn::Module& model, const Recipe& r, const Plan& plan) {
  DY_CHECK_AS(ValueError, optim::optimizer_def(options_.optimizer).step,
              "study: {} computes the loss several times in a step, and a study once; choose another optimizer",
              options_.optimizer);
  optim::Options o = options_.optimizer_options;
  o.set("state", r.states);
  o.set("stochastic_rounding", r.rounding == "stochastic");
  o.set("seed", double(plan.seed ^ 0x5eed));
  nn::NamedTensors trained;
  for (auto& entry : model.named_parameters())
    if (entry.second.requires_grad()) trained.push_back(entry);
  DY_CHECK_AS(ValueError, !trained.empty(), "study: nothing of {} is trained: no parameter requires a gradient", kind_);
  return std::make_unique<optim::Optimizer>(options_.optimizer, std::move(trained), std::move(o),
                                            tables(const_cast<nn::Module&>(model)));
}

std::unique_ptr<optim::Schedule> OwnSubject::schedule(optim::Optimizer& optimizer, const Plan& plan) {
  if (!options_.schedule.empty())
    return std::make_unique<optim::LRScheduler>(options_.schedule, optimizer, options_.schedule_options);
  return std::make_unique<Warmup>(optimizer, warmup_cosine(optimizer.groups()[0].options.number("lr"), {}, {}, plan.steps));
}

std::unique_ptr<Stream> OwnSubject::stream(const Plan&) {
  return std::make_unique<Watched>(training_->stream(), example_, training_->last_rows(), unlike_);
}

data::Value OwnSubject::blank() { return example_.blank(); }
data::Value OwnSubject::short_blank(int64_t steps) {
  const int64_t rows = training_ && training_->size() <= steps ? training_->last_rows() : 0;
  return rows ? example_.blank(rows) : data::Value();
}

std::string OwnSubject::other_memory() const {
  if (!unlike_.empty()) return fmt::format("batches differ: the first one is {}, {}", example_.text(), unlike_);
  if (example_.arrays()) return "batches hold arrays, and tensors that the loss makes of them are not in what is predicted";
  const Source::Ahead ahead = training_->ahead();
  return ahead.workers
             ? fmt::format("{} worker{} have up to {} batches ready, and all of them are counted in what is predicted",
                           ahead.workers, ahead.workers == 1 ? "" : "s", ahead.batches)
             : "";
}

Tensor OwnSubject::mean_loss(nn::Module& model, const data::Value& batch) { return mean(loss_(model, batch)); }

Tensor OwnSubject::losses(nn::Module& model, const data::Value& batch, Tensor*) {
  const Tensor l = loss_(model, batch);
  DY_CHECK_AS(ValueError, l.defined() && l.dtype().is_floating_point() && l.dim() >= 1 && l.numel() > 0,
              "study: the loss is no number for each sample: it is {}; leave its mean to the study (reduction=\"none\")",
              l.defined() ? dyadic::v1::describe(l) : "nothing");
  DY_CHECK_AS(ValueError, window_ == 1 || l.numel() == window_ * l.size(0),
              "study: the loss has {} numbers for each of {} samples, where others had {}; let it give one for each sample",
              l.numel() / l.size(0), l.size(0), window_);
  return l.detach().to(f32).contiguous();
}

Tensor OwnSubject::metric(nn::Module& model, const data::Value& batch) {
  if (!options_.metric.function) return {};
  const Tensor m = options_.metric.function(model, batch);
  DY_CHECK_AS(ValueError, m.defined() && m.dim() >= 1 && m.numel() > 0,
              "study: the metric {} is no number for each sample: it is {}", options_.metric.name,
              m.defined() ? dyadic::v1::describe(m) : "nothing");
  DY_CHECK_AS(ValueError, !m.dtype().is_complex(), "study: the metric {} gave complex numbers, which have no order: {}",
              options_.metric.name, dyadic::v1::describe(m));
  return m.detach().to(f64).contiguous();
}

void OwnSubject::describe(StudyResult& s) const {
  s.model.preset = options_.name.empty() ? kind_ : options_.name;
  s.model.kind = kind_;
  s.model.parameters = parameters_;
  s.model.batch = items_ / window_;
  const Metric& m = options_.metric;
  s.measure = {window_ > 1 ? "token" : "sample", "", m.name, m.larger_is_better, m.root};
  add_notes(s);
  s.training = options_.optimizer;
  const auto add = [&](const optim::Options& options) {
    for (auto& [name, value] : options)
      s.training +=
          fmt::format(", {} {}", name, value.word.empty() ? fmt::format("{}", fmt::join(value.numbers, " ")) : value.word);
  };
  add(options_.optimizer_options);
  s.training += options_.schedule.empty() ? "; a warm-up, then a cosine" : "; " + options_.schedule;
  add(options_.schedule_options);
}

void OwnSubject::add_notes(StudyResult& s) const {
  for (const std::string& text : notes_)
    if (std::find(s.notes.begin(), s.notes.end(), text) == s.notes.end()) s.notes.push_back(text);
}

Identity OwnSubject::identity(const StudyResult& s) const {
  Identity all{{"model", s.model.kind},
               {"parameters", std::to_string(s.model.parameters)},
               {"batch", std::to_string(s.model.batch)},
               {"training", s.training}};
  all.insert(all.end(), found_.begin(), found_.end());
  return all;
}

}  // namespace dyadic::inline v1::study
