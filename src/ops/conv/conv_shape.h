// What the convolution ops share: their arguments as the kernels' shape, and the two families of composite forms.
#pragma once
#include "loops/conv.h"
#include "ops/composite.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops {

// Spatial sizes as ConvShape has them, last axes filled; padding is one value, one per dimension, or all lows and all highs.
// x is [N, C, sizes...], w [filters, C / groups, kernel...].
struct ConvArguments {
  int64_t rank = 0;
  ConvShape shape;
};
// Of a plan, which infer begins: its formats, null where there is no bias.
struct ConvParameters {
  ConvShape shape;
  const Format *x, *w, *bias, *y;
};
ConvArguments conv_arguments(const char* who, IntList x, IntList w, IntList stride, IntList padding, IntList dilation,
                             int64_t groups);
// The computing dtype of two operands; TypeError where they do not go together.
DType conv_type(const char* who, const Tensor& x, const Tensor& w);
double conv_flops(const ConvShape& s);
// Of integers and complex numbers: TypeError where weight or bias (or none) are of another dtype; y [N, C, sizes ...] with a
// bias [C].
void check_same_dtypes(const char* who, const Tensor& x, const Tensor& w, const Tensor& bias);
Tensor biased(const Tensor& y, const Tensor& bias, int64_t rank);

// Of integers, x [N, C, sizes ...]; of the transposed one `a` is of the convolution that maps its result to x.
Tensor integer_conv(const char* who, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvArguments& a);
Tensor integer_conv_transpose(const char* who, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvArguments& a);

// conv1d-3d and conv_transpose1d-3d from their arguments.
Tensor conv_nd(const char* who, int64_t rank, Args args);
Tensor conv_transpose_nd(const char* who, int64_t rank, Args args);

// Of what vmap calls at once: [entries, N, channels, ...] as [N, entries channels, ...] and back; weights [entries, filters,
// ...] as filters of as many more groups.
Tensor joined_channels(const Tensor& whole);
Tensor split_channels(const Tensor& joined, int64_t entries);
Tensor joined_filters(const Tensor& whole);

}  // namespace dyadic::inline v1::ops
