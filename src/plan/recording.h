// What a forward has called, written down by a dry run: which call made which memory, what it read, what it would take to call
// it again, and what of it backward has saved.
#pragma once
#include <cstdint>
#include <vector>

#include "dyadic/call.h"

namespace dyadic::inline v1::planning {

// Values are numbered as calls have made them; a call's are neighbours. A value is memory of its own, not a view.
struct RecordedCall {
  Op op{};
  double seconds = 0;  // on a typical machine
  std::vector<int> reads;
  int first = 0, count = 0;
  bool repeatable = true;  // the same call later would give the same
};
struct RecordedValue {
  int call = 0;
  int64_t bytes = 0;  // as the ledger counts them
  bool saved = false;
  bool written = false;  // since it was made
};
struct Recording {
  std::vector<RecordedCall> calls;
  std::vector<RecordedValue> values;
};

inline constexpr int64_t kWorthStowing = 4 << 10;  // bytes of a result that goes into a file

// Of a forward's calls, in order, those that are made again in backward instead of keeping what they gave. A forward that calls
// something else than was recorded keeps what differs.
struct Choice {
  std::vector<Op> ops;
  std::vector<bool> again;
  std::vector<bool> stowed = {};  // calls whose results go into a file and are read from there; empty: none
  int64_t stowed_bytes = 0;
  bool repeats(size_t call, Op op) const { return is(again, call, op); }
  bool stows(size_t call, Op op) const { return is(stowed, call, op); }
  bool any() const;  // anything made again

 private:
  bool is(const std::vector<bool>& which, size_t call, Op op) const {
    return call < which.size() && which[call] && ops[call] == op;
  }
};

}  // namespace dyadic::inline v1::planning
