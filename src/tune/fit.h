// How a step fits into memory.
#pragma once
#include <memory>

#include "dyadic/finetune.h"
#include "plan/recording.h"

namespace dyadic::inline v1::tune {

struct Fit {
  MemoryUse use;
  std::shared_ptr<const planning::Choice> again;  // calls of forward that backward makes again; null: none
};
// That a step's rows are cut into; 0: none. ValueError where there are more shards than rows, or fewer than ranks.
int64_t shards_of(const FinetuneOptions& options);

// What a step will take, and if that is above options.memory_limit the fewest calls made again that bring it there, to the same
// bits. OutOfMemoryError that names the least where none do; shards run as they are. Of a model that has an adapter nothing is
// known.
Fit fit(models::CausalLM& model, const FinetuneOptions& options);

}  // namespace dyadic::inline v1::tune
