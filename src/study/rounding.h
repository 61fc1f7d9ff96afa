// What rounding did on the sampled steps, by op and by module.
#pragma once
#include <unordered_map>

#include "dyadic/optim.h"
#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

// The counts of RoundingCounting since its last clear. `modules`: by module too.
void add_rounding(RecipeResult& r, bool modules);

// What an optimizer's meters show before a step, so that the step's own updates can be told.
class UpdatesBefore {
  optim::Optimizer& optimizer_;
  std::unordered_map<const TensorImpl*, optim::UpdateMeter> before_;

 public:
  explicit UpdatesBefore(optim::Optimizer& optimizer);
  void add(RecipeResult& r) const;
};

// The modules of all recipes as the tree that their paths make, depth first, of siblings the one with the largest error first.
// A module stands for what is inside of it too.
struct ModuleRow {
  std::string path, name;               // name: the path's end
  int depth = 0;                        // 0: of the model itself
  std::vector<ModuleRounding> recipes;  // one for each recipe of the study that has modules, in its order
  double worst = 0;                     // the largest error
};
std::vector<ModuleRow> module_rows(const StudyResult& study);

}  // namespace dyadic::inline v1::study
