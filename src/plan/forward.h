// A forward under a plan: calls are counted, and what backward would keep of those that the plan repeats is computed again when
// it is asked for.
//
// Note [Numbered values]: memory that a call has made bears a number in the place that foreign memory has for its owner
// (Storage::foreign): the forward's and the value's. A storage made later at the same place has none, so that nothing is taken
// for what it is not.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "corridor/observer.h"
#include "plan/recording.h"
#include "plan/repeated.h"

namespace dyadic::inline v1::planning {

// The calls of this thread belong to one forward while it lives; it ends before backward begins.
class Forward : Observer {
 public:
  // folder: of the file that the choice may ask for.
  explicit Forward(const Choice& choice, std::string folder = "") : Forward(&choice, nullptr) { folder_ = std::move(folder); }
  explicit Forward(Recording& recording) : Forward(nullptr, &recording) {}
  ~Forward() override;

 private:
  Forward(const Choice* choice, Recording* recording);
  void called(const Call& c) override;
  void made(const Call& c);
  void record(const Call& c, int first);
  void written(const Call& c);
  int number(const Storage& s) const;                     // -1: none of this forward's
  std::shared_ptr<Repeated> instead_of(const Tensor& t);  // of memory that it is kept in; null: nothing
  Unpack pack(const Tensor& t);

  const Choice* const choice_;
  Recording* const recording_;
  const uint64_t tag_;
  size_t calls_ = 0;
  int values_ = 0;
  std::string folder_;
  std::shared_ptr<StowFile> file_;
  std::vector<std::shared_ptr<Repeated>> repeated_;      // by value; null: it is kept
  std::vector<std::pair<const Storage*, int>> outside_;  // what was read from outside, by which call
  std::vector<std::vector<int>> readers_;                // of each value, while recording
  const Pack packs_;
  const Pack* const packed_before_;
};

}  // namespace dyadic::inline v1::planning
