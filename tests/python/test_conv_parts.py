"""_conv_forward and _output_padding: the parts of convolutions that others override or call."""
import pytest

import dyadic as dy
from dyadic import nn


class Standardized(nn.Conv2d):
    def forward(self, x):
        w = self.weight - self.weight.mean(dim=[1, 2, 3], keepdim=True)
        return self._conv_forward(x, w, self.bias)


class Masked(nn.Conv1d):
    def _conv_forward(self, input, weight, bias):
        return super()._conv_forward(input, weight * dy.tensor([1.0, 0.0]), bias)


def test_a_weight_of_ones_own():
    conv = Standardized(1, 1, 2, bias=False)
    with dy.no_grad():
        conv.weight.copy_(dy.tensor([[[[1.0, 2.0], [3.0, 6.0]]]]))
    assert conv(dy.tensor([[[[1.0, 0.0], [0.0, 2.0]]]])).item() == -2 + 2 * 3


@pytest.mark.parametrize("mode, expected", [("zeros", [0, 1, 2]), ("circular", [2, 1, 2]), ("replicate", [1, 1, 2]), ("reflect", [2, 1, 2])])
def test_of_an_overridden_part(mode, expected):
    conv = Masked(1, 1, 2, padding=(1,), bias=False, padding_mode=mode)
    nn.init.ones_(conv.weight)
    for m in (conv, nn.Sequential(conv)):
        assert m(dy.tensor([[[1.0, 2.0]]])).tolist() == [[expected]]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"padding": "same", "dilation": 2}, {"padding": 1, "stride": 2, "groups": 2}, {"padding": 1, "padding_mode": "circular"}])
def test_it_is_what_forward_computes(n, options):
    conv = getattr(nn, f"Conv{n}d")(2, 4, 3, **options)
    x = dy.randn(2, 2, *[7] * n)
    assert dy.equal(conv._conv_forward(x, conv.weight, conv.bias), conv(x))
    assert not dy.allclose(conv._conv_forward(x, conv.weight * 2, None), conv(x))


def test_output_padding_of_a_transposed_convolution():
    conv = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1, output_padding=1)
    of = lambda size: conv._output_padding(dy.ones(1, 1, 4, 4), size, [2, 2], [1, 1], [3, 3], 2)  # noqa: E731
    assert list(of(None)) == [1, 1]
    assert of([7, 8]) == [0, 1] and of([1, 1, 8, 7]) == [1, 0]
    with pytest.raises(ValueError):
        of([6, 7])
    with pytest.raises(ValueError):
        of([9, 7])
    with pytest.raises(ValueError):
        of([7])
    assert conv._output_padding(dy.ones(1, 1, 4, 4), [10, 10], [2, 2], [1, 1], [3, 3], 2, [2, 2]) == [1, 1]
