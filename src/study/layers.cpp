#include "study/layers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dyadic/interrupt.h"
#include "study/conclude.h"
#include "study/measure.h"
#include "study/paths.h"
#include "study/recommend.h"
#include "study/stored.h"

namespace dyadic::inline v1::study {
namespace {

struct Group {  // a module's own weights that the format is for
  std::string module;
  nn::NamedTensors low, high;  // those that the format stores, and those that the kept one does
};

std::string module_of(const std::string& parameter) {
  const std::string path = parent_of(parameter);
  return path.empty() ? "(the model itself)" : path;
}

class Mixtures {
  const Reference& ref_;
  DType low_, high_;
  std::vector<Group> groups_;
  nn::NamedTensors always_;  // kept: the format is not for them

 public:
  Mixtures(const Reference& ref, DType low, DType high) : ref_(ref), low_(low), high_(high) {
    const auto add = [&](DType format, nn::NamedTensors Group::* list) {
      for (auto& [name, t] : stored_in(ref.model, format)) {
        const std::string module = module_of(name);
        auto at = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.module == module; });
        if (at == groups_.end()) at = groups_.insert(at, {module, {}, {}});
        ((*at).*list).emplace_back(name, t);
      }
    };
    add(low, &Group::low);
    add(high, &Group::high);
    for (const Group& g : groups_)
      if (g.low.empty()) always_.insert(always_.end(), g.high.begin(), g.high.end());
    std::erase_if(groups_, [](const Group& g) { return g.low.empty(); });
  }
  const std::vector<Group>& groups() const { return groups_; }

  struct Outcome {
    Evaluation evaluation;
    int64_t bytes = 0;
  };
  // Groups that are `in` are stored in the format; of the others the kept one where that is asked for, else f32.
  Outcome run(const std::vector<bool>& in, bool keep) const {
    nn::NamedTensors low, high = always_;
    for (size_t i = 0; i < groups_.size(); ++i) {
      nn::NamedTensors& to = in[i] ? low : high;
      for (auto& entry : in[i] ? groups_[i].low : groups_[i].high) to.push_back(entry);
    }
    const bool direct = ref_.subject.all_stored();
    const StoredWeights a(low, low_, direct), b(keep ? high : nn::NamedTensors(), high_, direct);
    return {evaluate(ref_.subject, ref_.model, ref_.size), ref_.model.nbytes() - a.surplus() - b.surplus()};
  }
  int64_t bytes(const Group& g, DType format) const {
    int64_t n = 0;
    for (auto& [name, t] : g.low) n += format == f32 ? t.nbytes() : t.detach().to(format).nbytes();
    return n;
  }
};

// Of what a method has made too ("q4_0, gptq"): modules are rounded to nearest here.
DType dtype_of(const FormatResult& f) {
  const size_t method = f.name.find(", ");
  return DType::parse(f.name.substr(0, method));
}

// Those to look into, up to three: the one that comes nearest to the tolerance, then of smaller ones each time the nearest.
std::vector<const FormatResult*> nearest_misses(const StudyResult& s, const FormatResult& chosen) {
  constexpr size_t kMost = 3;
  std::vector<const FormatResult*> misses, front;
  for (const FormatResult& f : s.formats) {
    const LossDelta& d = judged(s, f);
    if (f.status == Status::done && f.bytes < chosen.bytes && std::isfinite(d.delta) && !may_store(s, d)) misses.push_back(&f);
  }
  std::stable_sort(misses.begin(), misses.end(), [&](auto* a, auto* b) { return judged(s, *a).delta < judged(s, *b).delta; });
  for (const FormatResult* f : misses)
    if (front.size() < kMost && (front.empty() || f->bytes < front.back()->bytes)) front.push_back(f);
  return front;
}

// Fewest modules kept that bring the whole within the tolerance, found by halving: keeping more of them loses less.
void mix(const Mixtures& mixtures, const Reference& ref, const StudyResult& s, const FormatResult& chosen, Layers& l) {
  const size_t n = l.modules.size();
  std::vector<size_t> order(n), at(n);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto price = [&](const ModuleLoss& m) {
    return m.alone.delta / double(std::max<int64_t>(m.bytes - m.stored_bytes, 1));
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const double pa = price(l.modules[a]), pb = price(l.modules[b]);
    return std::isnan(pb) ? false : std::isnan(pa) || pa > pb;
  });
  for (size_t i = 0; i < n; ++i)
    at[i] = size_t(std::find_if(mixtures.groups().begin(), mixtures.groups().end(),
                                [&](const Group& g) { return g.module == l.modules[i].module; }) -
                   mixtures.groups().begin());
  const auto keeping = [&](size_t k) {
    std::vector<bool> in(n, true);
    for (size_t i = 0; i < k; ++i) in[at[order[i]]] = false;
    return mixtures.run(in, true);
  };
  size_t low = 1, high = n;  // n kept: the chosen format alone
  while (low < high && !interrupted()) {
    const size_t k = (low + high) / 2;
    const Mixtures::Outcome o = keeping(k);
    const LossDelta d = judge(ref.subject, ref.measure, ref.evaluation, o.evaluation);
    if (!may_store(s, d)) {
      low = k + 1;
      continue;
    }
    high = k;
    if (chosen.bytes && o.bytes >= *chosen.bytes) continue;
    l.bytes = o.bytes, l.vs_f32 = d, l.value = judged_mean(ref.measure, o.evaluation);
    for (size_t i = 0; i < n; ++i) l.modules[order[i]].kept = i < k;
  }
}

// miss: what is looked into; null: what was chosen, beside f32.
std::optional<Layers> look_into(const Reference& ref, const StudyResult& s, const FormatResult& chosen,
                                const FormatResult* miss, train::Progress& progress) {
  Layers l;
  const DType low = dtype_of(miss ? *miss : chosen);
  l.format = low.name();
  l.keep = miss ? dtype_of(chosen).name() : "f32";
  const Mixtures mixtures(ref, low, DType::parse(l.keep));
  const size_t n = mixtures.groups().size();
  const Mixtures::Outcome all = mixtures.run(std::vector<bool>(n, true), false);
  progress.begin("modules", int64_t(n));
  for (size_t i = 0; i < n && !interrupted(); ++i) {
    const Group& g = mixtures.groups()[i];
    std::vector<bool> one(n, false), others(n, true);
    one[i] = true, others[i] = false;
    ModuleLoss m{g.module, mixtures.bytes(g, f32), mixtures.bytes(g, low), {}, {}};
    m.alone = judge(ref.subject, ref.measure, ref.evaluation, mixtures.run(one, false).evaluation);
    m.spared = judge(ref.subject, ref.measure, all.evaluation, mixtures.run(others, false).evaluation);
    l.modules.push_back(std::move(m));
    progress.step(int64_t(i) + 1);
  }
  if (interrupted()) return {};
  std::stable_sort(l.modules.begin(), l.modules.end(), [](const ModuleLoss& a, const ModuleLoss& b) {
    return std::isnan(b.alone.delta) ? false : std::isnan(a.alone.delta) || a.alone.delta > b.alone.delta;
  });
  if (miss && s.options.minimize == Minimize::memory) mix(mixtures, ref, s, chosen, l);
  progress.end();
  return l;
}

}  // namespace

std::optional<Layers> study_layers(const Reference& ref, const StudyResult& s, train::Progress& progress) {
  const FormatResult* chosen = s.format(s.recommendation.uniform);
  if (!chosen) return {};
  std::vector<const FormatResult*> formats = nearest_misses(s, *chosen);
  if (formats.empty() && chosen->name == "f32") return {};
  if (formats.empty()) formats = {nullptr};
  std::optional<Layers> best;
  std::vector<std::pair<std::string, Count>> tried;
  for (const FormatResult* miss : formats) {
    std::optional<Layers> l = look_into(ref, s, *chosen, miss, progress);
    if (!l || interrupted()) return {};
    tried.emplace_back(l->format, l->bytes);
    if (!best || (l->bytes && (!best->bytes || *l->bytes < *best->bytes))) best = std::move(l);
  }
  best->tried = std::move(tried);
  return best;
}

void add_layers(const Reference& ref, StudyResult& s, train::Progress& progress) {
  const std::string error = error_of("", [&] { s.layers = study_layers(ref, s, progress); });
  if (!error.empty()) s.notes.push_back("What single modules lose could not be measured: " + error);
}

}  // namespace dyadic::inline v1::study
