"""Copies and arithmetic of elements that are spaced: columns, every k-th, backwards, beside numpy."""
import numpy as np
import pytest

import dyadic as torch

LENGTHS = [1, 2, 3, 4, 7, 15, 16, 17, 31, 33, 64, 65, 129, 300, 1500]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 8, -1, -2, -3])
def test_every_kth(dtype, step):
    for n in LENGTHS:
        source = (np.arange(n * abs(step)) % 251).astype(dtype)
        want = source[::step]
        x = torch.from_numpy(source)
        got = x[::step]
        assert np.array_equal(got.contiguous().numpy(), want)
        assert np.array_equal((got + got).numpy(), want + want)
        target = torch.zeros(n * abs(step), dtype=x.dtype)
        target[::step] = got
        assert np.array_equal(target.numpy()[::step], want)
        assert int((target != 0).sum()) == np.count_nonzero(want)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 15, 16, 17])
def test_short_rows_turned_and_taken_apart(dtype, columns):
    for rows in (1, 2, 5, 63, 511, 512, 513, 1100):
        a = (np.arange(rows * columns) % 251).reshape(rows, columns).astype(dtype)
        x = torch.from_numpy(a)
        assert np.array_equal(x.flip(1).numpy(), a[:, ::-1])
        assert np.array_equal(x.flip(0, 1).numpy(), a[::-1, ::-1])
        assert np.array_equal(x.t().contiguous().numpy(), a.T)
        assert np.array_equal(torch.stack(x.unbind(1), 1).numpy(), a)
        assert np.array_equal(torch.stack([x[:, 0], x[:, -1]], -1).numpy(), np.stack([a[:, 0], a[:, -1]], -1))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_pixels_to_channels_and_back(dtype, channels):
    for side in (1, 3, 8, 65, 70):
        a = (np.arange(2 * side * side * channels) % 251).reshape(2, side, side, channels).astype(dtype)
        x = torch.from_numpy(a)
        planes = x.permute(0, 3, 1, 2).contiguous()
        assert np.array_equal(planes.numpy(), a.transpose(0, 3, 1, 2))
        assert np.array_equal(planes.permute(0, 2, 3, 1).contiguous().numpy(), a)
        assert np.array_equal(x.flip(3).numpy(), a[..., ::-1])
