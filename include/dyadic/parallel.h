// How many threads an op may use.
#pragma once

namespace dyadic::inline v1 {

int num_threads();
inline int get_num_threads() { return num_threads(); }
void set_num_threads(int n);  // n >= 1

}  // namespace dyadic::inline v1
