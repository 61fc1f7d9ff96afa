#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::cdist_op {
namespace {

// Of matrices whose leading dimensions broadcast.
Tensor euclidean(const Tensor& x, const Tensor& y) {
  const std::vector<int64_t> batch = common_batch("cdist", x, y, "x1", "x2");
  auto with_batch = [&](int64_t rows, int64_t columns) {
    std::vector<int64_t> sizes = batch;
    sizes.insert(sizes.end(), {rows, columns});
    return sizes;
  };
  auto flat = [&](const Tensor& t) {
    return t.expand(with_batch(t.size(-2), t.size(-1))).reshape({count(batch), t.size(-2), t.size(-1)});
  };
  return call(Op::euclidean_distances_, flat(x), flat(y)).view(with_batch(x.size(-2), y.size(-2)));
}

Tensor compose(Args a) {
  const Tensor &x = a[arg::x1], &y = a[arg::x2];
  DY_CHECK(x.dim() >= 2 && y.dim() >= 2 && x.size(-1) == y.size(-1), "cdist: needs rows of one length: x1 is {}, x2 is {}",
           describe(x), describe(y));
  DY_CHECK(a[arg::p] >= 0, "cdist: negative p: p is {}", a[arg::p]);
  const std::string_view mode(a.arg(arg::compute_mode).text, a.arg(arg::compute_mode).n);
  const bool direct = mode == "donot_use_mm_for_euclid_dist";
  DY_CHECK_AS(ValueError, direct || mode == "use_mm_for_euclid_dist" || mode == "use_mm_for_euclid_dist_if_necessary",
              "cdist: unknown compute_mode \"{}\"; the known ones are use_mm_for_euclid_dist_if_necessary, "
              "use_mm_for_euclid_dist and donot_use_mm_for_euclid_dist",
              mode);
  if (!direct && a[arg::p] == 2 && plain(x) == plain(y) && plain(x).is_floating_point()) return euclidean(x, y);
  return vector_norm(sub(unsqueeze(x, -2), unsqueeze(y, -3)), a[arg::p], {-1});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cdist(Tensor x1, Tensor x2, float p=2, str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor",
    .doc =
        "The p-norms of the differences between the rows of x1 [..., n, d] and those of x2 [..., m, d]: [..., n, m]. "
        "For p = 2 they come from a product, unless compute_mode is 'donot_use_mm_for_euclid_dist': slower, and exact for rows "
        "close to each other.",
    .kind = OpKind::composite,
    .samples =
        "cdist(randn(3, 2), randn(4, 2))\n"
        "cdist(randn(2, 3, 2), randn(4, 2), 1.0)\n"
        "cdist(randn(3, 2), randn(4, 2), 2.0, 'donot_use_mm_for_euclid_dist')",
    .bad =
        "cdist(zeros(2, 3), zeros(2, 2)) => cdist: needs rows of one length: x1 is f32[2, 3], x2 is f32[2, 2]\n"
        "cdist(zeros(2, 3), zeros(2, 3), 2.0, 'mm') => cdist: unknown compute_mode \"mm\"; the known ones are "
        "use_mm_for_euclid_dist_if_necessary, use_mm_for_euclid_dist and donot_use_mm_for_euclid_dist",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cdist_op
