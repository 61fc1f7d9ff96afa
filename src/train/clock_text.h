#pragma once
#include <string>

namespace dyadic::inline v1::train {

std::string clock_text(double seconds);  // "0:07", "12:31", "3:04:05"; "-:--" for what is no duration

}  // namespace dyadic::inline v1::train
