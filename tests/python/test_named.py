"""Shapes by name: einops's layers, annotations in jaxtyping's notation, and the real jaxtyping."""
import math

import pytest

import dyadic as dy
from dyadic.einops.layers import EinMix, Rearrange, Reduce
from dyadic.jaxtyping import Bool, Float, Float32, Int, Shaped, Tensor, jaxtyped


def test_layers_of_patterns():
    x = dy.arange(24).float().view(2, 3, 4)
    model = dy.nn.Sequential(Rearrange("b (h two) d -> b h (two d)", two=1), Reduce("b h d -> b d", "mean"))
    assert model(x).tolist() == x.mean(1).tolist()
    assert "two=1" in Rearrange("b (h two) -> b h two", two=1).extra_repr()
    assert list(model.state_dict()) == []


@pytest.mark.parametrize(
    "pattern, weight, bias, sizes, shape, want",
    [
        ("b c -> b d", "c d", "d", {"c": 3, "d": 4}, (2, 3), lambda x, w, b: x @ w + b),
        ("b t c -> b t c", "c", None, {"c": 3}, (2, 5, 3), lambda x, w, b: x * w),
        ("b (h c) -> b h", "h c", "h", {"h": 2, "c": 3}, (4, 6), lambda x, w, b: (x.view(4, 2, 3) * w).sum(-1) + b),
        ("b c t -> b (d t)", "c d", "d", {"c": 3, "d": 2}, (4, 3, 5), lambda x, w, b: ((w.t() @ x) + b).reshape(4, 10)),
        ("... c -> ... d", "c d", "d", {"c": 3, "d": 2}, (2, 5, 3), lambda x, w, b: x @ w + b),
    ],
)
def test_einmix(pattern, weight, bias, sizes, shape, want):
    dy.manual_seed(0)
    layer, x = EinMix(pattern, weight, bias, **sizes), dy.randn(*shape)
    y = layer(x)
    assert dy.allclose(y, want(x, layer.weight, layer.bias), atol=1e-6)
    y.sum().backward()
    assert layer.weight.grad.shape == layer.weight.shape and (bias is None or layer.bias.grad is not None)
    assert layer.weight.abs().max() <= math.sqrt(3)


@pytest.mark.parametrize("pattern, weight, bias", [("b c -> b d", "c", None), ("b c -> b", "c z", None), ("b c -> b d", "c d", "c"), ("b c", "c", None)])
def test_einmix_refuses(pattern, weight, bias):
    with pytest.raises(RuntimeError, match="EinMix: "):
        EinMix(pattern, weight, bias, c=2, d=3, z=4)


def test_shapes():
    x = dy.zeros(2, 3)
    assert isinstance(x, Float[Tensor, "a b"]) and not isinstance(x, Float[Tensor, "a"]) and not isinstance(x, Int[Tensor, "a b"])
    assert isinstance(x, Float32[Tensor, "2 _"]) and not isinstance(x, Float32[Tensor, "3 _"])
    assert isinstance(x, Shaped[Tensor, "... 3"]) and isinstance(x, Shaped[Tensor, "*batch a b"]) and not isinstance(x, Shaped[Tensor, "a a"])
    assert isinstance(x, Shaped[Tensor, "a a+1"]) and not isinstance(x, Shaped[Tensor, "a a*2"]) and isinstance(x, Shaped[Tensor, "rows=2 columns=3"])
    assert isinstance(x > 0, Bool[Tensor, "..."]) and isinstance(dy.tensor(1.0), Float[Tensor, ""]) and not isinstance(1.0, Float[Tensor, ""])
    assert isinstance(dy.randn(2, 64).to("nf4"), Float[Tensor, "a b"])
    with pytest.raises(ValueError, match="more than one"):
        isinstance(x, Shaped[Tensor, "... *a"])


def test_calls_are_held_to_their_shapes():
    @jaxtyped
    def attend(q: Float[Tensor, "*batch seq dim"], k: Float[Tensor, "*batch other dim"], mask: Bool[Tensor, "#seq other"] | None = None) -> Float[Tensor, "*batch seq other"]:
        return q @ k.mT if mask is not False else q

    q, k = dy.zeros(2, 3, 4), dy.zeros(2, 5, 4)
    assert attend(q, k).shape == (2, 3, 5) and attend(q, k, None).shape == (2, 3, 5)
    assert attend(q, k, dy.zeros(1, 5) > 0).shape == (2, 3, 5)
    with pytest.raises(TypeError, match=r'attend: k does not fit Float\[Tensor, "\*batch other dim"\]: it is f32\[2, 5, 3\]; here .*dim=4'):
        attend(q, dy.zeros(2, 5, 3))
    with pytest.raises(TypeError, match="attend: mask"):
        attend(q, k, dy.zeros(2, 5) > 0)

    @jaxtyped
    def wrong(x: Float[Tensor, "a b"]) -> Float[Tensor, "b a"]:
        return x

    with pytest.raises(TypeError, match="wrong: the result does not fit"):
        wrong(q[0])


def test_jaxtyping_itself():
    import jaxtyping

    x = dy.zeros(2, 3)
    assert isinstance(x, jaxtyping.Float[dy.Tensor, "a b"]) and isinstance(x, jaxtyping.Float32[dy.Tensor, "2 3"])
    assert not isinstance(x, jaxtyping.Int[dy.Tensor, "a b"]) and not isinstance(x, jaxtyping.Float[dy.Tensor, "a a"])
    assert isinstance(x > 0, jaxtyping.Bool[dy.Tensor, "..."]) and isinstance(x.to(dy.bfloat16), jaxtyping.BFloat16[dy.Tensor, "_ 3"])
