// Which results are worth computing again.
#pragma once
#include <vector>

#include "plan/recording.h"

namespace dyadic::inline v1::planning {

// What backward must have, bought at `price` seconds a byte kept: each value that it saved is kept, or its call is made again
// from what that has read, which must be there in turn. The cheapest such set is a minimum cut of the recorded graph.
struct Cut {
  Choice choice;
  double seconds = 0;            // of the calls that are made again
  int64_t kept = 0;              // bytes
  std::vector<bool> keeps = {};  // values
};
Cut cheapest(const Recording& recording, double price);

// What the cut keeps of the first `share` of forward goes into a file.
Choice stowed(const Recording& recording, const Cut& cut, double share = 1);

// The cuts that are cheapest at some price, at most `most`: from nothing made again to nothing kept that can be computed.
std::vector<Cut> cheapest_at_all_prices(const Recording& recording, int most);

}  // namespace dyadic::inline v1::planning
