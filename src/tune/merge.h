// An adapter as a part of weights, by the way that costs least.
#pragma once
#include "dyadic/data.h"
#include "dyadic/finetune.h"

namespace dyadic::inline v1::tune {

struct MergeTask {
  models::CausalLM& model;  // with an adapter, which goes
  std::string adapter;      // the folder in which it is saved
  std::string original;     // the folder of the weights as they came; empty: there is none
  Merge into = Merge::best;
  std::vector<data::Value> probe;  // batches
  bool keep_zeros = false;         // where the weights were zero the merged ones are
};
// Tries what `into` allows and leaves the model as the best of it. ValueError where "original" is asked for without them.
std::vector<MergeChoice> merge(const MergeTask& task);

}  // namespace dyadic::inline v1::tune
