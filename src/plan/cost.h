// What calls take, by what the machine has been measured to do.
#pragma once
#include "account/machine.h"
#include "corridor/observer.h"

namespace dyadic::inline v1::planning {

// By which results are weighed against one another, wherever: what can be chosen, and so the least memory that training takes,
// is the same in each run. Per second, of two cores.
inline constexpr account::Peaks kTypical{2e11, 5e11, 2e10, 2e11, 2e11, 2e10};

// The longer of computing, at the rate of a product of the call's dtype or of a function, and of moving its bytes at the
// bandwidth of a copy, in a cache where they fit there; and a microsecond.
double seconds_of(const Call& c, const account::Peaks& p);

// Of all calls of this thread while it lives, on this machine.
class Stopwatch : Observer {
  double seconds_ = 0;
  void called(const Call& c) override;

 public:
  double seconds() const { return seconds_; }
};

}  // namespace dyadic::inline v1::planning
