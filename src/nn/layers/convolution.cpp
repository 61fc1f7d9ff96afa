#include <cmath>

#include "base/check.h"

#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

// weight and bias from U(-bound, bound), bound = 1 / sqrt(weight.size(1) * taps), as PyTorch begins.
void add_weight(Layer& self, int64_t first, int64_t second, int64_t filters, Options options) {
  std::vector<int64_t> shape{first, second};
  int64_t fan = second;
  for (int64_t k : self.ints("kernel_size")) shape.push_back(k), fan *= k;
  const double bound = fan > 0 ? 1 / std::sqrt(double(fan)) : 0;
  add_uniform(self, "weight", shape, bound, options);
  if (self.boolean("bias")) add_uniform(self, "bias", {filters}, bound, options);
}
void check_groups(const Layer& self) {
  const int64_t in = self.integer("in_channels"), out = self.integer("out_channels"), groups = self.integer("groups");
  DY_CHECK_AS(ValueError, groups > 0 && in % groups == 0 && out % groups == 0,
              "{}: groups do not divide the channels: in_channels is {}, out_channels is {}, groups is {}", self.kind(), in,
              out, groups);
}
void make_conv(Layer& self, Options options) {
  check_groups(self);
  const std::string_view mode = self.text("padding_mode");
  DY_CHECK_AS(ValueError, mode == "zeros" || mode == "reflect" || mode == "replicate" || mode == "circular",
              "{}: unknown padding_mode \"{}\"; the known ones are zeros, reflect, replicate and circular", self.kind(), mode);
  const int64_t out = self.integer("out_channels");
  add_weight(self, out, self.integer("in_channels") / self.integer("groups"), out, options);
}
// pad()'s order, last dimension first, of padding per dimension or of all befores and all behinds.
std::vector<int64_t> sides(IntList padding, int rank) {
  const auto n = size_t(rank);
  std::vector<int64_t> out;
  for (size_t d = n; d-- > 0;) {
    out.push_back(padding.begin()[d]);
    out.push_back(padding.begin()[padding.size() == 2 * n ? d + n : d]);
  }
  return out;
}
std::vector<Tensor> run_conv(Layer& self, const Arg* a) {
  Tensor x = *a[0].tensor;
  IntList padding = self.ints("padding");
  const std::vector<int64_t> none(size_t(self.def().rank), 0);
  if (self.text("padding_mode") != "zeros") {
    x = pad(x, sides(padding, self.def().rank), self.text("padding_mode"));
    padding = none;
  }
  const Op op = self.def().rank == 1 ? Op::conv1d_ : self.def().rank == 2 ? Op::conv2d_ : Op::conv3d_;
  return {call(op, x, self.value("weight"), self.value("bias"), self.ints("stride"), padding, self.ints("dilation"),
               self.integer("groups"))};
}
void make_transposed(Layer& self, Options options) {
  check_groups(self);
  const int64_t out = self.integer("out_channels");
  add_weight(self, self.integer("in_channels"), out / self.integer("groups"), out, options);
}

// output_padding that makes the result as large as asked for.
std::vector<int64_t> output_padding(const Layer& self, const Tensor& x, IntList wanted) {
  const auto n = size_t(self.def().rank);
  const size_t lead = size_t(x.dim()) - n;
  DY_CHECK_AS(ValueError, size_t(x.dim()) > n && (wanted.size() == n || wanted.size() == n + lead),
              "{}: output_size has {} sizes for an input of {} dimensions; it takes {} or all", self.kind(), wanted.size(),
              x.dim(), n);
  std::vector<int64_t> more;
  for (size_t d = 0; d < n; ++d) {
    auto of = [&](const char* name) { return self.ints(name).begin()[d]; };
    const int64_t least =
        (x.size(int64_t(lead + d)) - 1) * of("stride") - 2 * of("padding") + of("dilation") * (of("kernel_size") - 1) + 1;
    const int64_t size = wanted.begin()[wanted.size() - n + d];
    DY_CHECK_AS(ValueError, size >= least && size < least + of("stride"),
                "{}: output_size does not fit: {} in dimension {}; {} to {} can be made", self.kind(), size, lead + d, least,
                least + of("stride") - 1);
    more.push_back(size - least);
  }
  return more;
}
std::vector<Tensor> run_transposed(Layer& self, const Arg* a) {
  const Tensor& x = *a[0].tensor;
  std::vector<int64_t> more = self.ints("output_padding").vec();
  if (a[1].kind == Arg::Kind::ints) more = output_padding(self, x, {a[1].ints, a[1].n});
  const int rank = self.def().rank;
  const Op op = rank == 1 ? Op::conv_transpose1d_ : rank == 2 ? Op::conv_transpose2d_ : Op::conv_transpose3d_;
  return {call(op, x, self.value("weight"), self.value("bias"), self.ints("stride"), self.ints("padding"), IntList(more),
               self.integer("groups"), self.ints("dilation"))};
}

constexpr const char* kForwardConv = "forward(Tensor input) -> Tensor";
constexpr const char* kForwardTransposed = "forward(Tensor input, int[]? output_size=None) -> Tensor";

constexpr LayerDef kConvolutionLayers[] = {
    {"Conv1d(int in_channels, int out_channels, int[] kernel_size, int[] stride=1, int[] padding=0, int[] dilation=1, int "
     "groups=1, bool bias=True, str padding_mode='zeros')",
     "Cross-correlation of [N, C, sizes ...] in 1 dimension; weight [out, in / groups, kernel_size], weight and bias from "
     "U(-1/sqrt(fan_in), 1/sqrt(fan_in)).",
     "conv1d", 1, make_conv, nullptr, kForwardConv, run_conv},
    {"ConvTranspose1d(int in_channels, int out_channels, int[] kernel_size, int[] stride=1, int[] padding=0, int[] "
     "output_padding=0, int groups=1, bool bias=True, int[] dilation=1)",
     "The transpose of Conv1d as a linear map; weight [in, out / groups, kernel_size].", "conv_transpose1d", 1, make_transposed,
     nullptr, kForwardTransposed, run_transposed},
    {"Conv2d(int in_channels, int out_channels, int[] kernel_size, int[] stride=1, int[] padding=0, int[] dilation=1, int "
     "groups=1, bool bias=True, str padding_mode='zeros')",
     "Cross-correlation of [N, C, sizes ...] in 2 dimensions; weight [out, in / groups, kernel_size], weight and bias from "
     "U(-1/sqrt(fan_in), 1/sqrt(fan_in)).",
     "conv2d", 2, make_conv, nullptr, kForwardConv, run_conv},
    {"ConvTranspose2d(int in_channels, int out_channels, int[] kernel_size, int[] stride=1, int[] padding=0, int[] "
     "output_padding=0, int groups=1, bool bias=True, int[] dilation=1)",
     "The transpose of Conv2d as a linear map; weight [in, out / groups, kernel_size].", "conv_transpose2d", 2, make_transposed,
     nullptr, kForwardTransposed, run_transposed},
    {"Conv3d(int in_channels, int out_channels, int[] kernel_size, int[] stride=1, int[] padding=0, int[] dilation=1, int "
     "groups=1, bool bias=True, str padding_mode='zeros')",
     "Cross-correlation of [N, C, sizes ...] in 3 dimensions; weight [out, in / groups, kernel_size], weight and bias from "
     "U(-1/sqrt(fan_in), 1/sqrt(fan_in)).",
     "conv3d", 3, make_conv, nullptr, kForwardConv, run_conv},
    {"ConvTranspose3d(int in_channels, int out_channels, int[] kernel_size, int[] stride=1, int[] padding=0, int[] "
     "output_padding=0, int groups=1, bool bias=True, int[] dilation=1)",
     "The transpose of Conv3d as a linear map; weight [in, out / groups, kernel_size].", "conv_transpose3d", 3, make_transposed,
     nullptr, kForwardTransposed, run_transposed},
};

}  // namespace

std::span<const LayerDef> convolution_layers() { return kConvolutionLayers; }

}  // namespace dyadic::inline v1::nn
