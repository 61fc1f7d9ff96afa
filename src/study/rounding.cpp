#include "study/rounding.h"

#include <algorithm>
#include <map>

#include "dyadic/counters.h"
#include "study/paths.h"

namespace dyadic::inline v1::study {
namespace {

template <class T, class F> T& found_or_added(std::vector<T>& all, T fresh, F same) {
  const auto at = std::find_if(all.begin(), all.end(), same);
  return at != all.end() ? *at : all.emplace_back(std::move(fresh));
}

ModuleRounding& of_module(RecipeResult& r, const std::string& path) {
  return found_or_added(r.modules, ModuleRounding{path}, [&](const ModuleRounding& m) { return m.module == path; });
}

void add(ModuleRounding& to, const ModuleRounding& m) {
  to.elements += m.elements, to.overflows += m.overflows, to.flushed += m.flushed;
  to.squared += m.squared, to.squared_difference += m.squared_difference;
  to.updates += m.updates, to.lost_updates += m.lost_updates;
}

class Tree {
  std::map<std::string, ModuleRow> rows_;
  std::map<std::string, std::vector<const ModuleRow*>> children_;

  ModuleRow& row(const std::string& path, size_t recipes) {
    ModuleRow& r = rows_[path];
    if (r.recipes.empty()) r.recipes.resize(recipes);
    return r;
  }
  void put(const std::string& path, int depth, std::vector<ModuleRow>& out) {
    std::vector<const ModuleRow*>& inside = children_[path];
    std::stable_sort(inside.begin(), inside.end(), [](auto* a, auto* b) { return a->worst > b->worst; });
    for (const ModuleRow* child : inside) {
      out.push_back(*child);
      out.back().depth = depth;
      put(child->path, depth + 1, out);
    }
  }

 public:
  void add_module(const ModuleRounding& m, size_t recipe, size_t recipes) {
    for (std::string path = m.module;; path = parent_of(path)) {
      add(row(path, recipes).recipes[recipe], m);
      if (path.empty()) return;
    }
  }
  std::vector<ModuleRow> rows() {
    std::vector<ModuleRow> out;
    for (auto& [path, r] : rows_) {
      r.path = path;
      r.name = path.empty() ? "the whole model" : path.substr(path.rfind('.') + 1);
      for (const ModuleRounding& m : r.recipes)
        if (m.squared > 0) r.worst = std::max(r.worst, m.error());
      if (!path.empty()) children_[parent_of(path)].push_back(&r);
    }
    if (!rows_.empty()) out.push_back(rows_[""]);
    put("", 1, out);
    return out;
  }
};

}  // namespace

void add_rounding(RecipeResult& r, bool modules) {
  for (const RoundingCount& c : RoundingCounting::counts()) {
    r.overflows = r.overflows.value_or(0) + c.overflows;
    r.flushed = r.flushed.value_or(0) + c.flushed;
    if (modules) {
      ModuleRounding m{c.module, c.elements, c.overflows, c.flushed, c.squared, c.squared_difference};
      add(of_module(r, c.module), m);
    }
    if (!c.overflows && !c.flushed) continue;
    const std::string dtype = c.dtype.name();
    RoundingEvents& events = found_or_added(r.rounding, RoundingEvents{c.op, c.module, dtype}, [&](const RoundingEvents& e) {
      return e.op == c.op && e.module == c.module && e.dtype == dtype;
    });
    events.overflows += c.overflows;
    events.flushed += c.flushed;
  }
}

UpdatesBefore::UpdatesBefore(optim::Optimizer& optimizer) : optimizer_(optimizer) {
  for (auto& [p, state] : optimizer.states()) before_[p] = state.updates;
}

void UpdatesBefore::add(RecipeResult& r) const {
  for (const optim::ParamGroup& group : optimizer_.groups())
    for (auto& [name, p] : group.params) {
      const auto state = optimizer_.states().find(p.impl());
      if (state == optimizer_.states().end()) continue;
      const optim::UpdateMeter &now = state->second.updates, at = before_.contains(p.impl()) ? before_.at(p.impl()) : now;
      ModuleRounding& m = of_module(r, parent_of(name));
      m.updates += now.nonzero - at.nonzero;
      m.lost_updates += now.lost - at.lost;
    }
}

std::vector<ModuleRow> module_rows(const StudyResult& study) {
  const size_t recipes = size_t(
      std::count_if(study.recipes.begin(), study.recipes.end(), [](const RecipeResult& r) { return !r.modules.empty(); }));
  Tree tree;
  size_t k = 0;
  for (const RecipeResult& r : study.recipes) {
    if (r.modules.empty()) continue;
    for (const ModuleRounding& m : r.modules) tree.add_module(m, k, recipes);
    ++k;
  }
  return tree.rows();
}

}  // namespace dyadic::inline v1::study
