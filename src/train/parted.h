// A run's checkpoint of which several processes have parts: each writes its own, the first the index when all have.
#pragma once
#include "dyadic/data_parallel.h"
#include "dyadic/train.h"

namespace dyadic::inline v1::train {

// A part of a run that is here in part: of the tensors of `whole` those by whose names `here` says so are saved and, where
// `loads` is set, loaded. Their names are those of the part's state.
std::unique_ptr<Part> partly(std::unique_ptr<Part> whole, data::Callback<bool(std::string_view)> here, bool loads);

// What `parallel` trains: `weights` by their names, `states` of the optimizer by "<state>.<prefix><name>", of which a rank has
// its own where they are spread, and what has still to travel.
struct Trained {
  std::string name;  // of the part
  std::unique_ptr<Part> weights, states;
  std::string prefix;
};
void add_trained(Checkpoint& run, Trained trained, distributed::DataParallel& parallel, nn::Module& model);

// As one file, by the first rank, or, with `parted`, a part by each; on every rank. Where a rank fails all do, and what was
// there stays. Whatever else was at that path goes.
void save_at(Checkpoint& run, const std::string& path, int64_t step, distributed::Group& group, bool parted);
// The same, as the step's of the run's folder.
void save_in_folder(Checkpoint& run, int64_t step, distributed::Group& group, bool parted);
// What to load from there; "" where there is none. Complete ones alone.
std::string saved_at(const std::string& path);

}  // namespace dyadic::inline v1::train
