// How an operand's elements lie within a tile, and bringing them into one row and back.
#pragma once
#include "loops/space.h"

namespace dyadic::inline v1::tiles {

class Layout {
 public:
  void plan(const Space& s, const Cut& cut, int operand);
  bool flat() const { return kind_ == Kind::flat; }      // in one row already
  bool single() const { return kind_ == Kind::single; }  // one element throughout
  void gather(char* to, const char* from, int64_t n) const;
  void scatter(char* to, const char* from, int64_t n) const;

 private:
  template <bool kIn> void carry(char* row, char* lying, int64_t n) const;

  enum class Kind : uint8_t {
    flat,
    single,
    strided,  // one stride apart
    parts,    // pieces of `bytes_` at offsets
    repeats,  // each element at an offset stands `each_` times
  };
  Kind kind_;
  int64_t width_, stride_;  // bytes of an element, and between two
  int64_t bytes_, each_;    // of a part; elements of it
  int64_t at_[kGathered];   // where the parts begin
};

}  // namespace dyadic::inline v1::tiles
