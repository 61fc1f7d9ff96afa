#include "ops/resize/sampling.h"

namespace dyadic::inline v1::ops::grid_sample_op {
namespace {

constexpr const char* kName = "grid_sample";

// The sum over all choices of one tap per axis, the last axis first: [N, C, places].
class Sum {
  const Tensor& flat_;  // [N, C, elements]
  std::vector<std::vector<Tap>> axes_;
  std::vector<int64_t> strides_;
  Tensor sum_;

 public:
  Sum(const Tensor& flat) : flat_(flat) {}
  void add_axis(std::vector<Tap> taps, int64_t stride) {
    axes_.push_back(std::move(taps));
    strides_.push_back(stride);
  }
  Tensor run() {
    add_choice(0, {}, {});
    return sum_;
  }

 private:
  void add_choice(size_t axis, const Tensor& index, const Tensor& weight) {
    if (axis == axes_.size()) return add_elements(index, weight);
    for (const Tap& t : axes_[axis]) {
      const Tensor at = strides_[axis] == 1 ? t.index : mul(t.index, strides_[axis]);
      const Tensor both = !weight.defined() ? t.weight : t.weight.defined() ? mul(weight, t.weight) : weight;
      add_choice(axis + 1, index.defined() ? add(index, at) : at, both);
    }
  }
  void add_elements(const Tensor& index, const Tensor& weight) {
    const Tensor at = unsqueeze(index, 1).expand({flat_.size(0), flat_.size(1), index.size(1)});
    Tensor part = gather(flat_, 2, at);
    if (weight.defined()) part = mul(part, unsqueeze(weight, 1));
    sum_ = sum_.defined() ? add(sum_, part) : part;
  }
};

Tensor compose(Args a) {
  const Between between = read_mode(kName, a[arg::mode]);
  const Outside outside = read_padding(kName, a[arg::padding_mode]);
  const Tensor &input = a[arg::input], &grid = a[arg::grid];
  check_float(kName, input, "input");
  check_float(kName, grid, "grid");
  const int64_t rank = input.dim() - 2;
  DY_CHECK((rank == 2 || rank == 3) && grid.dim() == input.dim() && grid.size(-1) == rank && grid.size(0) == input.size(0),
           "grid_sample: sizes do not fit: input is {}, grid is {}; they are [N, C, sizes ...] and [N, places ..., 2 or 3]",
           describe(input), describe(grid));
  int64_t n = 1;
  for (int64_t d = 2; d < input.dim(); ++d) n *= input.size(d);
  DY_CHECK(n > 0, "grid_sample: nothing to sample from: input is {}", describe(input));
  const bool narrow = compute_type(plain(input)) == Compute::f32;  // rounded once
  std::vector<int64_t> sizes = {input.size(0), input.size(1)};
  int64_t places = 1;
  for (int64_t d = 1; d + 1 < grid.dim(); ++d) places *= grid.size(d), sizes.push_back(grid.size(d));
  const Tensor flat = (narrow ? to(input, f32) : input).reshape({input.size(0), input.size(1), n});
  const Tensor at = to(grid, flat.dtype()).reshape({input.size(0), places, rank});
  Sum sum(flat);
  int64_t stride = 1;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t size = input.size(-1 - axis);
    sum.add_axis(taps_along(select(at, -1, axis), size, between, outside, a.has(arg::align_corners) && a[arg::align_corners]),
                 stride);
    stride *= size;
  }
  return to(sum.run(), plain(input)).reshape(sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None) -> "
        "Tensor",
    .doc =
        "input [N, C, sizes ...] (images or volumes) at the positions of grid [N, places ..., 2 or 3]: x, y (, z), from -1 to "
        "1 over the last, the last but one dimension ...: [N, C, places ...]. mode: bilinear (of volumes in three "
        "directions), nearest, bicubic (a = -0.75; of volumes likewise in three directions). padding_mode: what stands "
        "outside: zeros, border, reflection. "
        "align_corners: -1 and 1 are the centers of the outer elements, else their outer edges. (Jaderberg et al. 2015.)",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "grid_sample(randn(2, 3, 4, 5), rand(2, 3, 2, 2))\n"
        "grid_sample(randn(1, 2, 4, 5), rand(1, 3, 2, 2), 'bilinear', 'border', True)\n"
        "grid_sample(randn(1, 2, 4, 5), rand(1, 3, 2, 2), 'bilinear', 'reflection', False)\n"
        "grid_sample(randn(1, 2, 4, 5), rand(1, 3, 2, 2), 'bicubic', 'zeros', False)\n"
        "grid_sample(randn(1, 2, 4, 5), rand(1, 3, 2, 2), 'bicubic', 'reflection', True)\n"
        "grid_sample(randn(1, 2, 4, 5), rand(1, 3, 2, 2), 'nearest', 'border', False)\n"
        "grid_sample(randn(1, 2, 3, 4, 2), rand(1, 2, 2, 2, 3), 'bilinear', 'zeros', True)\n"
        "grid_sample(randn(1, 2, 3, 1, 2), rand(1, 2, 2, 2, 3), 'bilinear', 'reflection', True)",
    .bad =
        "grid_sample(zeros(1, 2, 3), zeros(1, 2, 2)) => grid_sample: sizes do not fit: input is f32[1, 2, 3], grid is f32[1, "
        "2, 2]; they are [N, C, sizes ...] and [N, places ..., 2 or 3]\n"
        "grid_sample(zeros(1, 1, 2, 2), zeros(1, 1, 1, 2), 'linear') => grid_sample: unknown mode \"linear\"; the known ones "
        "are bilinear, nearest and bicubic\n"
        "grid_sample(zeros(1, 1, 2, 2), zeros(1, 1, 1, 2), 'nearest', 'wrap') => grid_sample: unknown padding_mode \"wrap\"; "
        "the known ones are zeros, border and reflection\n"
        "grid_sample(zeros(1, 1, 0, 2), zeros(1, 1, 1, 2)) => grid_sample: nothing to sample from: input is f32[1, 1, 0, 2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::grid_sample_op
