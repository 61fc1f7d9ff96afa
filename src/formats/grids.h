// The codebooks of ggml's iq formats: each entry is 8 values (4 for iq3) of a byte each, the first lowest. Compiled once.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dyadic::inline v1 {

template <size_t kEntries> struct Grid {
  uint64_t entry[kEntries];
};
extern const Grid<256> kIq2xxs;  // magnitudes
extern const Grid<512> kIq2xs;   // magnitudes
extern const Grid<1024> kIq2s;   // magnitudes
extern const Grid<2048> kIq1;    // -1, 0, 1
extern const Grid<256> kIq3xxs;  // magnitudes
extern const Grid<512> kIq3s;    // magnitudes

}  // namespace dyadic::inline v1
