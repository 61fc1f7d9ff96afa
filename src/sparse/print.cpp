// How sparse tensors are printed: PyTorch's way.
#include "ops/print.h"
#include "base/check.h"
#include "dyadic/sparse.h"

namespace dyadic::inline v1 {

std::string SparseTensor::str() const {
  constexpr size_t kIndent = 7;  // of "tensor("
  const bool coo = layout_ == SparseLayout::coo;
  std::string text = "tensor(";
  const auto part = [&](std::string_view name, const Tensor& t) {
    if (text.back() != '(') text += ",\n" + std::string(kIndent, ' ');
    const std::string open = std::string(name) + "=tensor(";
    text += open + elements_text(t, kIndent + open.size()) + (t.numel() ? "" : ", " + size_text(t.sizes())) + ")";
  };
  part(coo ? "indices" : "crow_indices", place_);
  if (!coo) part("col_indices", columns_);
  part("values", values_.detach());
  std::vector<std::string> suffixes{size_text(sizes_), fmt::format("nnz={}", nnz())};
  if (values_.dtype() != default_dtype()) suffixes.push_back(dtype_text(values_.dtype()));
  suffixes.push_back(fmt::format("layout={}.sparse_{}", printed_package(), coo ? "coo" : "csr"));
  for (std::string& more : gradient_text(values_)) suffixes.push_back(std::move(more));
  return with_suffixes(text, suffixes, kIndent, coo);
}

}  // namespace dyadic::inline v1
