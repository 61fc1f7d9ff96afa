"""What convolutions have for those who override or call parts of them: _conv_forward and _output_padding."""
from .. import _dyadic
from . import functional as F
from ._layers import bases, classes


def _adding(n):
    function = getattr(F, f"conv{n}d")

    def _conv_forward(self, input, weight, bias):
        """The convolution of input with any weight and bias; forward calls it with the layer's own."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    return _conv_forward


def _sizes_without_padding(self, input, stride, padding, kernel_size, n, dilation):
    dilation = dilation or [1] * n
    first = input.dim() - n
    return [(input.size(first + d) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1 for d in range(n)]


def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
    """The output_padding that makes results of output_size; the layer's own where there is none."""
    n = num_spatial_dims
    if output_size is None:
        own = self.output_padding
        return list(own) if isinstance(own, (tuple, list)) else [own] * n
    if len(output_size) not in (n, input.dim()):
        raise ValueError(
            f"{type(self).__name__}: output_size has {n} sizes, or {input.dim()} with those of batch and channels: it is {list(output_size)}"
        )
    wanted = list(output_size)[-n:]
    least = _sizes_without_padding(self, input, stride, padding, kernel_size, n, dilation)
    if any(not low <= size < low + step for size, low, step in zip(wanted, least, stride)):
        most = [low + step - 1 for low, step in zip(least, stride)]
        raise ValueError(f"{type(self).__name__}: output_size does not fit: it is {wanted}; {least} to {most} can be made")
    return [size - low for size, low in zip(wanted, least)]


for _n in (1, 2, 3):
    classes[f"Conv{_n}d"]._conv_forward = _adding(_n)
    _dyadic._add_conv_forward(classes[f"Conv{_n}d"]._conv_forward)  # forward is C++'s where this one stands
bases["_ConvTransposeNd"]._output_padding = _output_padding
