"""The unmodified einops on dyadic's tensors; numpy is the oracle."""
import subprocess
import sys

import einops
import numpy as np
import pytest

import dyadic as dy


@pytest.mark.parametrize(
    "pattern, sizes",
    [
        ("b h w c -> b c h w", {}),
        ("b h w c -> (b h) w c", {}),
        ("b (h1 h2) w c -> b h1 w (c h2)", {"h2": 2}),
        ("b ... c -> c b ...", {}),
        ("b h w c -> (b h w c)", {}),
    ],
)
def test_rearrange(pattern, sizes):
    a = np.arange(2 * 4 * 3 * 5, dtype=np.float32).reshape(2, 4, 3, 5)
    got = einops.rearrange(dy.from_numpy(a), pattern, **sizes)
    np.testing.assert_array_equal(got.numpy(), einops.rearrange(a, pattern, **sizes))


@pytest.mark.parametrize("how", ["min", "max", "sum", "mean", "prod"])
def test_reduce(how):
    a = np.random.default_rng(1).standard_normal((2, 4, 6)).astype(np.float32)
    got = einops.reduce(dy.from_numpy(a), "b (h p) w -> b h w", how, p=2)
    np.testing.assert_allclose(got.numpy(), einops.reduce(a, "b (h p) w -> b h w", how, p=2), rtol=1e-5)


def test_repeat_pack_einsum():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = dy.from_numpy(a)
    np.testing.assert_array_equal(einops.repeat(t, "h w -> h (w 2) c", c=4).numpy(), einops.repeat(a, "h w -> h (w 2) c", c=4))
    packed, shapes = einops.pack([t, t[:, :1]], "h *")
    assert packed.shape == (2, 4)
    assert [u.shape for u in einops.unpack(packed, shapes, "h *")] == [(2, 3), (2, 1)]
    np.testing.assert_allclose(einops.einsum(t, t, "h w, k w -> h k").numpy(), a @ a.T)
    assert einops.parse_shape(t, "h w") == {"h": 2, "w": 3}


def test_gradients_flow():
    t = dy.ones(2, 6, requires_grad=True)
    einops.reduce(t, "b (n k) -> b n", "mean", k=3).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), np.full((2, 6), 1 / 3, np.float32))


@pytest.mark.parametrize("order", ["import einops, dyadic as dy", "import dyadic as dy, einops"])
def test_either_may_be_imported_first(order):
    code = f"{order}; print(einops.rearrange(dy.ones(2, 3), 'a b -> b a').shape)"
    assert "3, 2" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_our_own():
    from dyadic.einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack

    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    t = dy.from_numpy(a)
    for pattern, sizes in [("b t (h d) -> b h t d", {"h": 2}), ("... c -> c ...", {}), ("b t c -> (b t) c", {})]:
        np.testing.assert_array_equal(rearrange(t, pattern, **sizes).numpy(), einops.rearrange(a, pattern, **sizes))
    np.testing.assert_allclose(reduce(t, "b t c -> b c", "mean").numpy(), a.mean(1))
    np.testing.assert_array_equal(repeat(t, "b t c -> b t n c", n=2).numpy(), einops.repeat(a, "b t c -> b t n c", n=2))
    packed, shapes = pack([t, t[:, 0]], "b * c")
    assert shapes == [(3,), ()] and packed.shape == (2, 4, 4)
    assert unpack(packed, shapes, "b * c")[0].shape == (2, 3, 4)
    assert parse_shape(t, "b _ c") == {"b": 2, "c": 4}
    np.testing.assert_allclose(einsum(t, t, "b i c, b j c -> b i j").numpy(), np.einsum("bic,bjc->bij", a, a))
    with pytest.raises(RuntimeError, match="reduce takes dimensions away"):
        rearrange(t, "b t c -> b t")
