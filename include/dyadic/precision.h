// How precisely f32 matrices are multiplied. Nothing lowers it unasked.
#pragma once
#include <string_view>

namespace dyadic::inline v1 {

// "highest" (from the start): as they are; "high": operands rounded to tf32, f32's range with 10 bits of fraction; "medium": to
// bf16. Sums stay in f32. For the whole process, as PyTorch's function of that name; here it costs time rather than saving it:
// it shows what a GPU would compute. ValueError for other texts.
void set_float32_matmul_precision(std::string_view precision);
std::string_view get_float32_matmul_precision();

}  // namespace dyadic::inline v1
