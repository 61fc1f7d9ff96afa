#include "base/check.h"
#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

void values_alone(Layer& self, const Tensor&) {
  DY_CHECK(!self.boolean("return_indices"),
           "{}: forward gives the values alone; dy::max_pool and dy::adaptive_max_pool give both", self.kind());
}

std::vector<Tensor> run_unpool(Layer& self, const Arg* a) {
  const int rank = self.def().rank;
  const Op op = rank == 1 ? Op::max_unpool1d_ : rank == 2 ? Op::max_unpool2d_ : Op::max_unpool3d_;
  return {call(op, *a[0].tensor, *a[1].tensor, self.ints("kernel_size"), self.argument("stride"), self.ints("padding"), a[2])};
}
constexpr const char* kForwardUnpool = "forward(Tensor input, Tensor indices, int[]? output_size=None) -> Tensor";

constexpr LayerDef kPoolingLayers[] = {
    {"MaxPool1d(int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool return_indices=False, "
     "bool ceil_mode=False)",
     "The largest element of each window.", "max_pool1d", 1, nullptr, values_alone},
    {"AvgPool1d(int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool count_include_pad=True)",
     "The mean of each window.", "avg_pool1d", 1},
    {"AdaptiveAvgPool1d(int[] output_size)", "Means over windows that make output_size results.", "adaptive_avg_pool1d", 1},
    {"AdaptiveMaxPool1d(int[] output_size, bool return_indices=False)",
     "The largest elements of windows that make output_size results.", "adaptive_max_pool1d", 1, nullptr, values_alone},
    {"LPPool1d(float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False)",
     "(sum of x^p)^(1/p) over each window.", "lp_pool1d", 1},
    {"MaxUnpool1d(int[] kernel_size, int[]? stride=None, int[] padding=0)",
     "MaxPool1d undone: (input, indices), zeros elsewhere.", "max_unpool1d", 1, nullptr, nullptr, kForwardUnpool, run_unpool},
    {"MaxPool2d(int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool return_indices=False, "
     "bool ceil_mode=False)",
     "The largest element of each window.", "max_pool2d", 2, nullptr, values_alone},
    {"AvgPool2d(int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, "
     "int? divisor_override=None)",
     "The mean of each window.", "avg_pool2d", 2},
    {"AdaptiveAvgPool2d(int[] output_size)", "Means over windows that make output_size results.", "adaptive_avg_pool2d", 2},
    {"AdaptiveMaxPool2d(int[] output_size, bool return_indices=False)",
     "The largest elements of windows that make output_size results.", "adaptive_max_pool2d", 2, nullptr, values_alone},
    {"LPPool2d(float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False)",
     "(sum of x^p)^(1/p) over each window.", "lp_pool2d", 2},
    {"MaxUnpool2d(int[] kernel_size, int[]? stride=None, int[] padding=0)",
     "MaxPool2d undone: (input, indices), zeros elsewhere.", "max_unpool2d", 2, nullptr, nullptr, kForwardUnpool, run_unpool},
    {"MaxPool3d(int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool return_indices=False, "
     "bool ceil_mode=False)",
     "The largest element of each window.", "max_pool3d", 3, nullptr, values_alone},
    {"AvgPool3d(int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, "
     "int? divisor_override=None)",
     "The mean of each window.", "avg_pool3d", 3},
    {"AdaptiveAvgPool3d(int[] output_size)", "Means over windows that make output_size results.", "adaptive_avg_pool3d", 3},
    {"AdaptiveMaxPool3d(int[] output_size, bool return_indices=False)",
     "The largest elements of windows that make output_size results.", "adaptive_max_pool3d", 3, nullptr, values_alone},
    {"LPPool3d(float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False)",
     "(sum of x^p)^(1/p) over each window.", "lp_pool3d", 3},
    {"MaxUnpool3d(int[] kernel_size, int[]? stride=None, int[] padding=0)",
     "MaxPool3d undone: (input, indices), zeros elsewhere.", "max_unpool3d", 3, nullptr, nullptr, kForwardUnpool, run_unpool},
};

}  // namespace

std::span<const LayerDef> pooling_layers() { return kPoolingLayers; }

}  // namespace dyadic::inline v1::nn
