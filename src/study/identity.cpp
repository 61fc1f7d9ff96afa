#include "study/identity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "data/each_tensor.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::study {
namespace {

const std::string* setting(const Identity& identity, const std::string& name) {
  const auto at = std::find_if(identity.begin(), identity.end(), [&](auto& s) { return s.first == name; });
  return at == identity.end() ? nullptr : &at->second;
}
std::string shown(const std::string* value) { return !value ? "not there" : value->empty() ? "none" : *value; }

}  // namespace

void add_options(Identity& identity, const Options& o, const std::vector<Recipe>& recipes) {
  identity.insert(identity.end(), {{"steps", std::to_string(o.steps)},
                                   {"seeds", std::to_string(o.seeds)},
                                   {"seed", std::to_string(o.seed)},
                                   {"clip", fmt::format("{}", o.clip)},
                                   {"shadow", o.shadow ? "yes" : "no"},
                                   {"recipes", fmt::format("{}", fmt::join(o.recipes, " "))}});
  for (const Recipe& r : recipes) identity.emplace_back("recipe " + r.name, text(fields_of(r)));
  identity.emplace_back("formats", fmt::format("{}", fmt::join(o.formats, " ")));
}

std::string joined(const Identity& identity) {
  std::string all;
  for (auto [name, value] : identity) {
    std::replace(name.begin(), name.end(), ' ', '_');
    std::replace(value.begin(), value.end(), ',', ';');
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", name, value);
  }
  return all;
}

std::string difference(const Identity& theirs, const Identity& mine) {
  if (theirs.empty()) return "it does not say what it is of, as reports of earlier versions";
  for (const Identity* list : {&mine, &theirs})
    for (auto& [name, value] : *list) {
      const std::string *there = setting(theirs, name), *here = setting(mine, name);
      if (!there || !here || *there != *here)
        return fmt::format("its {} is {}, here it is {}", name, shown(there), shown(here));
    }
  return "";
}

RecipeFields fields_of(const Recipe& r) {
  RecipeFields f{r.parameters.name(), r.compute ? r.compute.name() : "", r.states.name(), r.rounding, r.scaler, {}};
  for (auto& [pattern, dtype] : r.modules) f.modules.emplace_back(pattern, dtype.name());
  return f;
}

std::string text(const RecipeFields& f) {
  std::string all = fmt::format("parameters {}, compute {}, states {}, rounding {}, scaler {}", f.parameters,
                                f.compute.empty() ? "none" : f.compute, f.states, f.rounding, f.scaler ? "yes" : "no");
  for (auto& [pattern, dtype] : f.modules) all += fmt::format(", {} in {}", pattern, dtype);
  return all;
}

struct Digest::State {
  Sha256 sha;
  int64_t tensors = 0;
};
Digest::Digest() : state_(std::make_shared<State>()) {}

void Digest::add(const data::Value& batch) {
  data::with_each_tensor(batch, [&](const Tensor& t) {
    const Tensor here = t.detach().to(cpu).contiguous();
    state_->sha.update(fmt::format("{} {}\n", t.dtype().name(), fmt::join(t.sizes().begin(), t.sizes().end(), "x")));
    state_->sha.update(here.impl()->data(), size_t(here.nbytes()));
    ++state_->tensors;
    return t;
  });
}
std::string Digest::hex() const { return state_->tensors ? state_->sha.hex().substr(0, 16) : ""; }

}  // namespace dyadic::inline v1::study
