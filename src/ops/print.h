// Parts of Tensor::str for what is printed beside tensors.
#pragma once
#include <string>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// Of which module dtypes and layouts are said to be: "dyadic" or, where the package stands for PyTorch, "torch".
void set_printed_package(const char* name);  // a text that lives
const char* printed_package();
// The elements alone, "[1., 2.]", as they stand behind `indent` columns.
std::string elements_text(const Tensor& t, size_t indent);
std::string dtype_text(DType d);   // dtype=dyadic.float64
std::string size_text(IntList s);  // size=(2, 3)
// What stands behind the elements of t for its gradient: nothing, requires_grad=True or grad_fn=<...>.
std::vector<std::string> gradient_text(const Tensor& t);
// s with these behind it and a closing parenthesis, each on a new line where the current one is full; the first on one in any
// case if so wished.
std::string with_suffixes(std::string s, const std::vector<std::string>& suffixes, size_t indent, bool new_line = false);

}  // namespace dyadic::inline v1
