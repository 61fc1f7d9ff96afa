// Note [Batched tensors]: inside of vmap a tensor is one entry of many. It has the entry's sizes and strides; its storage has
// no data but knows where the entries lie, `stride` apart in another tensor, which may be such a one itself (vmap within vmap).
// So views of it are views like any other; a kernel's call becomes one of all entries (corridor/batched.cpp), and whoever else
// asks for its values gets an error.
#pragma once
#include <memory>

#include "dyadic/vmap.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {

struct BatchLevel : std::enable_shared_from_this<BatchLevel> {  // one vmap
  uint64_t number;                                              // later ones, so inner ones, have higher numbers
  int64_t size;                                                 // entries
  Randomness randomness;
  uint64_t start;      // of the tape: nodes that are older stand outside
  bool active = true;  // until the function returns
  BatchLevel* outer;   // the one around it
};
using LevelPtr = std::shared_ptr<BatchLevel>;
extern constinit thread_local BatchLevel* t_batch_level;  // the innermost of this thread

struct Batch {  // of a storage
  Tensor memory;
  int64_t stride;  // of the entries, in elements of `memory`
  LevelPtr level;
};
void release_batch(void* batch);
inline const Batch* entries_of(const Storage& s) {
  return !s.data && s.free_foreign == release_batch ? static_cast<const Batch*>(s.foreign) : nullptr;
}
inline const Batch* entries_of(const Tensor& t) { return t.defined() ? entries_of(*t.impl()->storage) : nullptr; }
// The innermost level's batch that `t` has at this level; null: it is the same for all entries.
inline const Batch* entries_at(const Tensor& t, const BatchLevel& level) {
  const Batch* b = entries_of(t);
  return b && b->level->number == level.number ? b : nullptr;
}

// The entry that stands for all: `whole` is [entries, ...]. Without a history.
Tensor make_batched(const Tensor& whole, const LevelPtr& level);
// All entries of `t`, [entries, ...], at its innermost level: the same memory, without a history.
Tensor whole_of(const Tensor& t);
// A tensor that is the same for all entries as if they were many.
Tensor repeated(const Tensor& t, int64_t entries);

// What `t` is of all entries of all levels: for checks of values.
inline Tensor every_entry(Tensor t) {
  while (entries_of(t)) t = whole_of(t);
  return t;
}

[[noreturn]] void refuse_values(const Batch& b);  // the error of who asks for values

}  // namespace dyadic::inline v1
