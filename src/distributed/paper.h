// Groups on paper: of as many ranks as one likes, none of which is there. What runs on meta takes the same way as with a group
// that is, and what would be sent is counted (Call::on_paper).
#pragma once
#include <memory>

#include "distributed/engine.h"
#include "dyadic/distributed.h"

namespace dyadic::inline v1::distributed {

// world() of this thread, while it lives.
class PaperWorld {
  std::unique_ptr<Engine> engine_;
  Group group_;
  Group* before_;

 public:
  PaperWorld(int rank, int ranks);
  ~PaperWorld();
  PaperWorld(const PaperWorld&) = delete;
  Group& group() { return group_; }
};

}  // namespace dyadic::inline v1::distributed
