// The ops of networks as free functions, one line each; their documentation is in their records (src/ops/<family>/<op>.cpp).
// Those of every day (linear, softmax, layer_norm, cross_entropy ...) are in ops.h.
#pragma once
#include "dyadic/ops.h"

namespace dyadic::inline v1 {

inline Arg list_or_none(IntList l) { return l.empty() ? Arg() : Arg(l); }

// clang-format off
// Convolution: input [N, C, sizes ...] or [C, sizes ...].
inline Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntList stride = {1}, IntList padding = {0}, IntList dilation = {1}, int64_t groups = 1) { return call(Op::conv1d_, input, weight, bias, stride, padding, dilation, groups); }
inline Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntList stride = {1}, IntList padding = {0}, IntList dilation = {1}, int64_t groups = 1) { return call(Op::conv2d_, input, weight, bias, stride, padding, dilation, groups); }
inline Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntList stride = {1}, IntList padding = {0}, IntList dilation = {1}, int64_t groups = 1) { return call(Op::conv3d_, input, weight, bias, stride, padding, dilation, groups); }
inline Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntList stride = {1}, IntList padding = {0}, IntList output_padding = {0}, int64_t groups = 1, IntList dilation = {1}) { return call(Op::conv_transpose1d_, input, weight, bias, stride, padding, output_padding, groups, dilation); }
inline Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntList stride = {1}, IntList padding = {0}, IntList output_padding = {0}, int64_t groups = 1, IntList dilation = {1}) { return call(Op::conv_transpose2d_, input, weight, bias, stride, padding, output_padding, groups, dilation); }
inline Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntList stride = {1}, IntList padding = {0}, IntList output_padding = {0}, int64_t groups = 1, IntList dilation = {1}) { return call(Op::conv_transpose3d_, input, weight, bias, stride, padding, output_padding, groups, dilation); }

// Pooling over the last dimensions. An empty stride means kernel_size.
inline Tensor adaptive_avg_pool1d(const Tensor& input, IntList output_size) { return call(Op::adaptive_avg_pool1d_, input, output_size); }
inline Tensor adaptive_avg_pool2d(const Tensor& input, IntList output_size) { return call(Op::adaptive_avg_pool2d_, input, output_size); }
inline Tensor adaptive_avg_pool3d(const Tensor& input, IntList output_size) { return call(Op::adaptive_avg_pool3d_, input, output_size); }
inline Tensor adaptive_max_pool1d(const Tensor& input, IntList output_size) { return call(Op::adaptive_max_pool1d_, input, output_size); }
inline Tensor adaptive_max_pool2d(const Tensor& input, IntList output_size) { return call(Op::adaptive_max_pool2d_, input, output_size); }
inline Tensor adaptive_max_pool3d(const Tensor& input, IntList output_size) { return call(Op::adaptive_max_pool3d_, input, output_size); }
inline Tensor avg_pool1d(const Tensor& input, IntList kernel_size, IntList stride = {}, IntList padding = {0}, bool ceil_mode = false, bool count_include_pad = true) { return call(Op::avg_pool1d_, input, kernel_size, list_or_none(stride), padding, ceil_mode, count_include_pad); }
inline Tensor avg_pool2d(const Tensor& input, IntList kernel_size, IntList stride = {}, IntList padding = {0}, bool ceil_mode = false, bool count_include_pad = true, std::optional<int64_t> divisor_override = {}) { return call(Op::avg_pool2d_, input, kernel_size, list_or_none(stride), padding, ceil_mode, count_include_pad, divisor_override); }
inline Tensor avg_pool3d(const Tensor& input, IntList kernel_size, IntList stride = {}, IntList padding = {0}, bool ceil_mode = false, bool count_include_pad = true, std::optional<int64_t> divisor_override = {}) { return call(Op::avg_pool3d_, input, kernel_size, list_or_none(stride), padding, ceil_mode, count_include_pad, divisor_override); }
inline Tensor lp_pool1d(const Tensor& input, double norm_type, IntList kernel_size, IntList stride = {}, bool ceil_mode = false) { return call(Op::lp_pool1d_, input, norm_type, kernel_size, list_or_none(stride), ceil_mode); }
inline Tensor lp_pool2d(const Tensor& input, double norm_type, IntList kernel_size, IntList stride = {}, bool ceil_mode = false) { return call(Op::lp_pool2d_, input, norm_type, kernel_size, list_or_none(stride), ceil_mode); }
inline Tensor lp_pool3d(const Tensor& input, double norm_type, IntList kernel_size, IntList stride = {}, bool ceil_mode = false) { return call(Op::lp_pool3d_, input, norm_type, kernel_size, list_or_none(stride), ceil_mode); }
inline Tensor max_pool1d(const Tensor& input, IntList kernel_size, IntList stride = {}, IntList padding = {0}, IntList dilation = {1}, bool ceil_mode = false) { return call(Op::max_pool1d_, input, kernel_size, list_or_none(stride), padding, dilation, ceil_mode); }
inline Tensor max_pool2d(const Tensor& input, IntList kernel_size, IntList stride = {}, IntList padding = {0}, IntList dilation = {1}, bool ceil_mode = false) { return call(Op::max_pool2d_, input, kernel_size, list_or_none(stride), padding, dilation, ceil_mode); }
inline Tensor max_pool3d(const Tensor& input, IntList kernel_size, IntList stride = {}, IntList padding = {0}, IntList dilation = {1}, bool ceil_mode = false) { return call(Op::max_pool3d_, input, kernel_size, list_or_none(stride), padding, dilation, ceil_mode); }
inline Tensor max_unpool1d(const Tensor& input, const Tensor& indices, IntList kernel_size, IntList stride = {}, IntList padding = {0}, IntList output_size = {}) { return call(Op::max_unpool1d_, input, indices, kernel_size, list_or_none(stride), padding, list_or_none(output_size)); }
inline Tensor max_unpool2d(const Tensor& input, const Tensor& indices, IntList kernel_size, IntList stride = {}, IntList padding = {0}, IntList output_size = {}) { return call(Op::max_unpool2d_, input, indices, kernel_size, list_or_none(stride), padding, list_or_none(output_size)); }
inline Tensor max_unpool3d(const Tensor& input, const Tensor& indices, IntList kernel_size, IntList stride = {}, IntList padding = {0}, IntList output_size = {}) { return call(Op::max_unpool3d_, input, indices, kernel_size, list_or_none(stride), padding, list_or_none(output_size)); }
inline std::vector<Tensor> fractional_max_pool2d_with_indices(const Tensor& input, IntList kernel_size, IntList output_size, const Tensor& random_samples = {}) { return call_all(Op::fractional_max_pool2d_with_indices_, input, kernel_size, output_size, random_samples); }
inline std::vector<Tensor> fractional_max_pool3d_with_indices(const Tensor& input, IntList kernel_size, IntList output_size, const Tensor& random_samples = {}) { return call_all(Op::fractional_max_pool3d_with_indices_, input, kernel_size, output_size, random_samples); }

// Normalizations, norms, distances.
inline Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {}, const Tensor& bias = {}, bool training = false, double momentum = 0.1, double eps = 1e-05) { return call(Op::batch_norm_, input, running_mean, running_var, weight, bias, training, momentum, eps); }
inline Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim = 1, double eps = 1e-08) { return call(Op::cosine_similarity_, x1, x2, dim, eps); }
inline Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-05) { return call(Op::group_norm_, input, num_groups, weight, bias, eps); }
inline Tensor instance_norm(const Tensor& input, const Tensor& running_mean = {}, const Tensor& running_var = {}, const Tensor& weight = {}, const Tensor& bias = {}, bool use_input_stats = true, double momentum = 0.1, double eps = 1e-05) { return call(Op::instance_norm_, input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps); }
inline Tensor local_response_norm(const Tensor& input, int64_t size, double alpha = 0.0001, double beta = 0.75, double k = 1.0) { return call(Op::local_response_norm_, input, size, alpha, beta, k); }
template <int = 0>  // Gives way to a program's own
inline Tensor normalize(const Tensor& input, double p = 2.0, int64_t dim = 1, double eps = 1e-12) { return call(Op::normalize_, input, p, dim, eps); }
inline Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2.0, double eps = 1e-06, bool keepdim = false) { return call(Op::pairwise_distance_, x1, x2, p, eps, keepdim); }
inline Tensor rms_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight = {}, std::optional<double> eps = {}) { return call(Op::rms_norm_, input, normalized_shape, weight, eps); }

// Other sizes and other orders of elements.
inline Tensor channel_shuffle(const Tensor& input, int64_t groups) { return call(Op::channel_shuffle_, input, groups); }
inline Tensor col2im(const Tensor& input, IntList output_size, IntList kernel_size, IntList dilation = {1}, IntList padding = {0}, IntList stride = {1}) { return call(Op::col2im_, input, output_size, kernel_size, dilation, padding, stride); }
inline Tensor im2col(const Tensor& input, IntList kernel_size, IntList dilation = {1}, IntList padding = {0}, IntList stride = {1}) { return call(Op::im2col_, input, kernel_size, dilation, padding, stride); }
inline Tensor interpolate(const Tensor& input, IntList size = {}, std::optional<double> scale_factor = {}, std::string_view mode = "nearest", std::optional<bool> align_corners = {}, bool antialias = false) { return call(Op::interpolate_, input, list_or_none(size), scale_factor, mode, align_corners, antialias); }
inline Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode = "bilinear", std::string_view padding_mode = "zeros", std::optional<bool> align_corners = {}) { return call(Op::grid_sample_, input, grid, mode, padding_mode, align_corners); }
inline Tensor affine_grid(const Tensor& theta, IntList size, std::optional<bool> align_corners = {}) { return call(Op::affine_grid_, theta, size, align_corners); }
inline Tensor pixel_shuffle(const Tensor& input, int64_t upscale_factor) { return call(Op::pixel_shuffle_, input, upscale_factor); }
inline Tensor pixel_unshuffle(const Tensor& input, int64_t downscale_factor) { return call(Op::pixel_unshuffle_, input, downscale_factor); }

// Losses: mean, sum or none.
inline Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight = {}, std::string_view reduction = "mean") { return call(Op::binary_cross_entropy_, input, target, weight, reduction); }
inline Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight = {}, std::string_view reduction = "mean", const Tensor& pos_weight = {}) { return call(Op::binary_cross_entropy_with_logits_, input, target, weight, reduction, pos_weight); }
inline Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0, std::string_view reduction = "mean") { return call(Op::cosine_embedding_loss_, input1, input2, target, margin, reduction); }
inline Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full = false, double eps = 1e-06, std::string_view reduction = "mean") { return call(Op::gaussian_nll_loss_, input, target, var, full, eps, reduction); }
inline Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin = 1.0, std::string_view reduction = "mean") { return call(Op::hinge_embedding_loss_, input, target, margin, reduction); }
inline Tensor huber_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", double delta = 1.0, const Tensor& weight = {}) { return call(Op::huber_loss_, input, target, reduction, delta, weight); }
inline Tensor kl_div(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", bool log_target = false) { return call(Op::kl_div_, input, target, reduction, log_target); }
inline Tensor l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", const Tensor& weight = {}) { return call(Op::l1_loss_, input, target, reduction, weight); }
inline Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0, std::string_view reduction = "mean") { return call(Op::margin_ranking_loss_, input1, input2, target, margin, reduction); }
inline Tensor mse_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", const Tensor& weight = {}) { return call(Op::mse_loss_, input, target, reduction, weight); }
inline Tensor multi_margin_loss(const Tensor& input, const Tensor& target, int64_t p = 1, double margin = 1.0, const Tensor& weight = {}, std::string_view reduction = "mean") { return call(Op::multi_margin_loss_, input, target, p, margin, weight, reduction); }
inline Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean") { return call(Op::multilabel_margin_loss_, input, target, reduction); }
inline Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const Tensor& weight = {}, std::string_view reduction = "mean") { return call(Op::multilabel_soft_margin_loss_, input, target, weight, reduction); }
inline Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank = 0, std::string_view reduction = "mean", bool zero_infinity = false) { return call(Op::ctc_loss_, log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity); }
inline Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight = {}, int64_t ignore_index = -100, std::string_view reduction = "mean") { return call(Op::nll_loss_, input, target, weight, ignore_index, reduction); }
inline Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input = true, bool full = false, double eps = 1e-08, std::string_view reduction = "mean") { return call(Op::poisson_nll_loss_, input, target, log_input, full, eps, reduction); }
inline Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", double beta = 1.0) { return call(Op::smooth_l1_loss_, input, target, reduction, beta); }
inline Tensor soft_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean") { return call(Op::soft_margin_loss_, input, target, reduction); }
inline Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1.0, double p = 2, double eps = 1e-06, bool swap = false, std::string_view reduction = "mean") { return call(Op::triplet_margin_loss_, anchor, positive, negative, margin, p, eps, swap, reduction); }

// Others.
inline Tensor one_hot(const Tensor& self, int64_t num_classes = -1) { return call(Op::one_hot_, self, num_classes); }
inline Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {}) { return call(Op::bilinear_, input1, input2, weight, bias); }
inline Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets = {}, std::string_view mode = "mean", const Tensor& per_sample_weights = {}, bool include_last_offset = false, std::optional<int64_t> padding_idx = {}, bool scale_grad_by_freq = false) { return call(Op::embedding_bag_, input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx, scale_grad_by_freq); }
inline Tensor dropout1d(const Tensor& input, double p = 0.5, bool training = true) { return call(Op::dropout1d_, input, p, training); }
inline Tensor dropout2d(const Tensor& input, double p = 0.5, bool training = true) { return call(Op::dropout2d_, input, p, training); }
inline Tensor dropout3d(const Tensor& input, double p = 0.5, bool training = true) { return call(Op::dropout3d_, input, p, training); }
inline Tensor alpha_dropout(const Tensor& input, double p = 0.5, bool training = false) { return call(Op::alpha_dropout_, input, p, training); }
inline Tensor feature_alpha_dropout(const Tensor& input, double p = 0.5, bool training = false) { return call(Op::feature_alpha_dropout_, input, p, training); }
// clang-format on

}  // namespace dyadic::inline v1
