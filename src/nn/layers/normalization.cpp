#include "base/check.h"
#include "corridor/signature.h"
#include "nn/layers/layers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::nn {
namespace {

void make_batch_norm(Layer& self, Options options) {
  const int64_t n = self.integer("num_features");
  if (self.boolean("affine")) {
    add_constant(self, "weight", {n}, 1, options);
    if (self.boolean("bias")) add_constant(self, "bias", {n}, 0, options);
  }
  if (!self.boolean("track_running_stats")) return;
  const DType dtype = options.dtype ? options.dtype : default_dtype();
  self.register_buffer("running_mean", zeros({n}, dtype, options.device));
  self.register_buffer("running_var", ones({n}, dtype, options.device));
  self.register_buffer("num_batches_tracked", zeros({}, i64, options.device));
}
// [N, C, ...] by the digit in the record's name; a derived class has a name of its own.
int image_dims(const Layer& self) {
  const std::string& name = self.signature().name;
  return name[name.size() - 2] - '0' + 2;
}
// As many, or one fewer where images may come alone and one-dimensional ones without a length.
void check_dims(Layer& self, const Tensor& input, bool batch) {
  const int images = image_dims(self);
  const bool fewer = images == 3 || !batch;
  DY_CHECK_AS(ValueError, input.dim() == images || (fewer && input.dim() == images - 1),
              "{}: wrong number of dimensions: input is {}; it takes {}{}", self.kind(), describe(input),
              fewer ? std::to_string(images - 1) + " or " : "", images);
}
void count_batch(Layer& self) {
  Tensor* count = self.training() ? self.tensor("num_batches_tracked") : nullptr;
  if (!count || !count->defined()) return;
  NoGrad guard;
  count->add_(scalar_tensor(1));
}
void before_batch_norm(Layer& self, const Tensor& input) {
  check_dims(self, input, true);
  count_batch(self);
}
// An image alone is a batch of one.
std::vector<Tensor> run_instance_norm(Layer& self, const Arg* a) {
  const Tensor& input = *a[0].tensor;
  check_dims(self, input, false);
  const bool alone = input.dim() < image_dims(self);
  const Tensor mean = self.value("running_mean"), var = self.value("running_var");
  const Arg momentum = self.argument("momentum");
  const Tensor y =
      call(Op::instance_norm_, alone ? unsqueeze(input, 0) : input, mean, var, self.value("weight"), self.value("bias"),
           self.training() || !mean.defined(), momentum.kind == Arg::Kind::none ? 0.0 : momentum.real, self.real("eps"));
  return {alone ? squeeze(y, 0) : y};
}
void make_group_norm(Layer& self, Options options) {
  DY_CHECK_AS(ValueError, self.integer("num_channels") % self.integer("num_groups") == 0,
              "GroupNorm: the groups differ in size: num_channels is {}, num_groups is {}", self.integer("num_channels"),
              self.integer("num_groups"));
  if (!self.boolean("affine")) return;
  add_constant(self, "weight", {self.integer("num_channels")}, 1, options);
  if (self.boolean("bias")) add_constant(self, "bias", {self.integer("num_channels")}, 0, options);
}
void make_rms_norm(Layer& self, Options options) {
  if (self.boolean("elementwise_affine")) add_constant(self, "weight", self.ints("normalized_shape"), 1, options);
}

constexpr const char* kForwardNorm = "forward(Tensor input) -> Tensor";

constexpr LayerDef kNormalizationLayers[] = {
    {"BatchNorm1d(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=True, bool track_running_stats=True, "
     "bool bias=True)",
     "Each channel of [N, C] or [N, C, L] with mean 0 and variance 1, then times weight plus bias; in evaluation by running "
     "statistics.",
     "batch_norm", 0, make_batch_norm, before_batch_norm},
    {"InstanceNorm1d(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=False, bool "
     "track_running_stats=False, bool bias=True)",
     "Each channel of each image with mean 0 and variance 1.", "instance_norm", 0, make_batch_norm, nullptr, kForwardNorm,
     run_instance_norm},
    {"BatchNorm2d(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=True, bool track_running_stats=True, "
     "bool bias=True)",
     "Each channel of [N, C, H, W] with mean 0 and variance 1, then times weight plus bias; in evaluation by running "
     "statistics.",
     "batch_norm", 0, make_batch_norm, before_batch_norm},
    {"InstanceNorm2d(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=False, bool "
     "track_running_stats=False, bool bias=True)",
     "Each channel of each image with mean 0 and variance 1.", "instance_norm", 0, make_batch_norm, nullptr, kForwardNorm,
     run_instance_norm},
    {"BatchNorm3d(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=True, bool track_running_stats=True, "
     "bool bias=True)",
     "Each channel of [N, C, D, H, W] with mean 0 and variance 1, then times weight plus bias; in evaluation by running "
     "statistics.",
     "batch_norm", 0, make_batch_norm, before_batch_norm},
    {"InstanceNorm3d(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=False, bool "
     "track_running_stats=False, bool bias=True)",
     "Each channel of each image with mean 0 and variance 1.", "instance_norm", 0, make_batch_norm, nullptr, kForwardNorm,
     run_instance_norm},
    {"GroupNorm(int num_groups, int num_channels, float eps=1e-05, bool affine=True, bool bias=True)",
     "Groups of channels with mean 0 and variance 1, then times weight plus bias.", "group_norm", 0, make_group_norm},
    {"RMSNorm(int[] normalized_shape, float? eps=None, bool elementwise_affine=True)",
     "x / sqrt(mean(x^2) + eps) over the last dimensions, times weight.", "rms_norm", 0, make_rms_norm},
    {"LocalResponseNorm(int size, float alpha=0.0001, float beta=0.75, float k=1.0)",
     "x over a power of the mean square of neighbouring channels.", "local_response_norm"},
};

}  // namespace

std::span<const LayerDef> normalization_layers() { return kNormalizationLayers; }

}  // namespace dyadic::inline v1::nn
