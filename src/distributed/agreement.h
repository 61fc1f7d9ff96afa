// What every rank calls, told to all of them before anything is moved.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "distributed/call.h"

namespace dyadic::inline v1::distributed {

inline constexpr int kDescriptionTag = 32000;

class Agreement {
  using Description = std::array<char, 128>;
  int rank_;
  Description mine_{};
  std::vector<Description> all_;
  std::vector<void*> requests_;

 public:
  Agreement(Engine& engine, const std::string& what)
      : rank_(engine.rank()), all_(size_t(engine.size())), requests_(2 * all_.size(), nullptr) {
    std::copy_n(what.data(), std::min(what.size(), mine_.size() - 1), mine_.data());
    all_[size_t(rank_)] = mine_;
    for (int r = 0; r < engine.size(); ++r) {
      if (r == rank_) continue;
      requests_[size_t(r)] = engine.receive(&all_[size_t(r)], sizeof mine_, r, kDescriptionTag);
      requests_[all_.size() + size_t(r)] = engine.send(&mine_, sizeof mine_, r, kDescriptionTag);
    }
    count_messages(engine.size() - 1);
  }
  Agreement(const Agreement&) = delete;
  std::vector<void*>& requests() { return requests_; }
  void check() const {
    for (size_t r = 1; r < all_.size(); ++r)
      if (all_[r] != all_[0])
        fail(
            "distributed: rank 0 calls {}, rank {} {}: calls come in the same order on every rank, with shapes and dtypes that "
            "fit",
            all_[0].data(), r, all_[r].data());
  }
};

// Takes out those that are done; whether none is left.
inline bool all_done(Engine& engine, std::vector<void*>& requests) {
  bool none = true;
  for (void*& r : requests)
    if (r && engine.done(r))
      r = nullptr;
    else
      none = none && !r;
  return none;
}

}  // namespace dyadic::inline v1::distributed
