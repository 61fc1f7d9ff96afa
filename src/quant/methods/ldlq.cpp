// LDLQ over E8's codebook (Tseng, Chee, Sun, Kuleshov, De Sa 2024, "QuIP#", arXiv:2402.04396, section 4; Chee, Cai, Kuleshov,
// De Sa 2023, "QuIP", arXiv:2307.13304): GPTQ for codes that stand for 8 elements at once. With H = sum of x x^T and H^-1 = U^T
// U (U upper) the error e of 8 columns B takes e U_BB^-1 U_Bk from every later column k.
//
// It works in the basis that the format stores its blocks in, where inputs are V x, so H is V H V^T.
#include "base/check.h"
#include "dyadic/ops.h"
#include "formats/e8p_kernel.h"
#include "formats/format.h"
#include "quant/methods.h"

namespace dyadic::inline v1::quant {
namespace {

const int64_t kBlock = e8p.format()->row_step(), kBlockBytes = e8p.format()->def->block_bytes;

// Rows of a matrix, f32 and contiguous, in the format's basis.
Tensor turned(const Tensor& t) {
  const Tensor out = t.clone();
  const int64_t blocks = t.size(1) / kBlock;
  parallel_for(t.size(0), 64 / blocks + 1, [&](int64_t begin, int64_t end) {
    e8p_kernel().turn(out.data<float>() + begin * t.size(1), (end - begin) * blocks);
  });
  return out;
}

Result run_ldlq(const Task& t) {
  if (auto few = without_rows(t, "ldlq")) return *few;
  const Tensor products = turned(transpose(turned(t.inputs->products()), 0, 1).contiguous());
  const Tensor factor = inverse_factor(products, number(t, "damping"));
  if (!factor.defined()) return {to_nearest(t.weight, t.format), "the inputs' products have no Cholesky factor at any damping"};
  const int64_t rows = t.weight.size(0), cols = t.weight.size(1);
  const Tensor w = turned(t.weight), stored = empty({rows, cols}, t.format);
  for (int64_t first = 0; first < cols; first += kBlock) {
    const Tensor block = narrow(w, 1, first, kBlock).contiguous(), errors = empty({rows, kBlock});
    const Tensor u = narrow(narrow(factor, 0, first, kBlock), 1, first, kBlock).contiguous();
    auto* const bytes = static_cast<uint8_t*>(stored.data_ptr()) + first / kBlock * kBlockBytes;
    parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        e8p_kernel().round_block(block.data<float>() + r * kBlock, errors.data<float>() + r * kBlock, u.data<float>(),
                                 bytes + r * (cols / kBlock) * kBlockBytes);
    });
    const int64_t rest = cols - first - kBlock;
    if (rest == 0) break;
    const Tensor later = narrow(w, 1, first + kBlock, rest);
    later.copy_(later - matmul(errors, narrow(narrow(factor, 0, first, kBlock), 1, first + kBlock, rest)));
  }
  return {stored, ""};
}

std::string refuses_ldlq(DType format) {
  return format == e8p ? "" : fmt::format("{} has no vectors of E8; use e8p, or the method gptq", format.name());
}

}  // namespace

extern const Method ldlq_method;
const Method ldlq_method = {
    .sig = "ldlq(float damping=0.01)",
    .doc =
        "gptq for e8p, whose codes stand for 8 elements at once: what rounding 8 columns does to the layer's output is made "
        "good "
        "in the columns that follow.\n"
        "damping: added to the diagonal of the inputs' products, a share of its mean.",
    .source = "Tseng et al. 2024, arXiv:2402.04396",
    .needs_inputs = true,
    .refuses = refuses_ldlq,
    .run = run_ldlq,
};

}  // namespace dyadic::inline v1::quant
