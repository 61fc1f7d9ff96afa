#include "formats/grid_tables.h"

namespace dyadic::inline v1 {

constexpr Grid<256> kIq2xxs = grid_tables::kIq2xxs;
constexpr Grid<512> kIq2xs = grid_tables::kIq2xs;
constexpr Grid<1024> kIq2s = grid_tables::kIq2s;
constexpr Grid<2048> kIq1 = grid_tables::kIq1;
constexpr Grid<256> kIq3xxs = grid_tables::kIq3xxs;
constexpr Grid<512> kIq3s = grid_tables::kIq3s;

}  // namespace dyadic::inline v1
