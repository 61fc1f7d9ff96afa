#include <cmath>

#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

void make_bilinear(Layer& self, Options options) {
  const int64_t m = self.integer("in1_features"), n = self.integer("in2_features"), out = self.integer("out_features");
  const double bound = m > 0 ? 1 / std::sqrt(double(m)) : 0;
  add_uniform(self, "weight", {out, m, n}, bound, options);
  if (self.boolean("bias")) add_uniform(self, "bias", {out}, bound, options);
}
void make_embedding_bag(Layer& self, Options options) {
  const int64_t n = self.integer("num_embeddings"), dim = self.integer("embedding_dim");
  Tensor& weight = self.register_parameter("weight", make_parameter({n, dim}, options));
  init::normal_(weight);
  const Arg& padding = self.argument("padding_idx");
  if (padding.kind == Arg::Kind::none || weight.is_meta()) return;
  NoGrad guard;
  weight.detach()[padding.integer].fill_(0);
}

void bound_rows(Layer& self, const Tensor& indices) {
  if (self.argument("max_norm").kind != Arg::Kind::none)
    embedding_renorm_(self.value("weight"), indices, self.real("max_norm"), self.real("norm_type"));
}

constexpr LayerDef kOtherLayers[] = {
    {"Flatten(int start_dim=1, int end_dim=-1)", "Dimensions start_dim to end_dim as one.", "flatten"},
    {"Upsample(int[]? size=None, float? scale_factor=None, str mode='nearest', bool? align_corners=None)",
     "Images at another size.", "interpolate"},
    {"UpsamplingNearest2d(int[]? size=None, float? scale_factor=None)", "Upsample to the nearest element.", "interpolate"},
    {"UpsamplingBilinear2d(int[]? size=None, float? scale_factor=None, str mode='bilinear', bool? align_corners=True)",
     "Upsample linearly, corners aligned.", "interpolate"},
    {"PixelShuffle(int upscale_factor)", "[..., C r^2, H, W] becomes [..., C, H r, W r].", "pixel_shuffle"},
    {"PixelUnshuffle(int downscale_factor)", "PixelShuffle undone.", "pixel_unshuffle"},
    {"ChannelShuffle(int groups)", "Channels as [groups, C / groups], transposed.", "channel_shuffle"},
    {"Unfold(int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1)", "The patches of images as columns.",
     "im2col"},
    {"Fold(int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1)",
     "Columns added where Unfold takes them from.", "col2im"},
    {"CosineSimilarity(int dim=1, float eps=1e-08)", "The cosine of (x1, x2) along dim.", "cosine_similarity"},
    {"PairwiseDistance(float p=2.0, float eps=1e-06, bool keepdim=False)", "The p-norm of x1 - x2 + eps.", "pairwise_distance"},
    {"Bilinear(int in1_features, int in2_features, int out_features, bool bias=True)", "y[o] = x1 weight[o] x2 + bias[o].",
     "bilinear", 0, make_bilinear},
    {"EmbeddingBag(int num_embeddings, int embedding_dim, str mode='mean', bool include_last_offset=False, int? "
     "padding_idx=None, bool scale_grad_by_freq=False, float? max_norm=None, float norm_type=2.0)",
     "The mean, sum or maximum of the rows that each bag of numbers names; weight from N(0, 1). Rows that are read are first "
     "scaled to a norm of at most max_norm, in place.",
     "embedding_bag", 0, make_embedding_bag, bound_rows},
};

}  // namespace

std::span<const LayerDef> other_layers() { return kOtherLayers; }

}  // namespace dyadic::inline v1::nn
