"""Sorting, choosing and running sums of rows that are shorter than what a loop is made for, beside numpy."""
import numpy as np
import pytest

import dyadic as torch

WIDTHS = [1, 2, 3, 5, 8, 9, 16, 17, 31, 32, 33, 64, 65, 300, 1023, 1024, 1025]
DTYPES = ["float32", "float64", "bfloat16", "float16", "int32", "int64", "uint8", "bool"]


def rows_of(dtype, n, rows=37):
    """Rows with ties and, in floats, NaN, infinities and zeros of both signs."""
    rng = np.random.default_rng(n)
    values = rng.integers(0, 7, (rows, n)).astype(np.float64)
    if "float" in dtype:
        values -= 3
        values[values == 2] = np.nan
        values[values == -2] = rng.choice([np.inf, -np.inf])
        values[values == 0] *= rng.choice([1.0, -1.0])
    if dtype == "bool":
        values = values > 3
    return torch.tensor(values).to(getattr(torch, dtype))


def as_numpy(t):
    return t.to(torch.float64).numpy()


def order_of(values, descending):
    """numpy's stable order: NaN last, and first when the order is turned."""
    key = -values if descending else values
    key = np.where(np.isnan(values), -np.inf if descending else np.inf, key)
    nan = np.isnan(values) if not descending else ~np.isnan(values)
    return np.lexsort((np.broadcast_to(np.arange(values.shape[1]), values.shape), key, nan), axis=1)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_and_topk_are_stable(dtype, n):
    x = rows_of(dtype, n)
    values = as_numpy(x)
    for descending in (False, True):
        order = order_of(values, descending)
        r = x.sort(1, descending=descending)
        assert (r.indices.numpy() == order).all()
        assert np.array_equal(as_numpy(r.values), np.take_along_axis(values, order, 1), equal_nan=True)
        for k in {0, 1, min(2, n), min(8, n), min(9, n), n}:
            top = x.topk(k, 1, largest=descending)
            assert (top.indices.numpy() == order[:, :k]).all()
            assert np.array_equal(as_numpy(top.values), np.take_along_axis(values, order[:, :k], 1), equal_nan=True)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8"])
def test_rank_of_short_rows(dtype, n):
    x = rows_of(dtype, n)
    values = as_numpy(x)
    order = order_of(values, False)
    for k in {1, (n + 1) // 2, n}:
        r = x.kthvalue(k, 1)
        assert np.array_equal(as_numpy(r.values), np.take_along_axis(values, order[:, k - 1:k], 1)[:, 0], equal_nan=True)
        assert np.array_equal(as_numpy(x.gather(1, r.indices[:, None])[:, 0]), as_numpy(r.values), equal_nan=True)
    nans = np.isnan(values).sum(1)
    middle = np.where(nans > 0, n - 1, (n - 1) // 2)
    assert np.array_equal(as_numpy(x.median(1).values), np.sort(values, 1)[np.arange(len(x)), middle], equal_nan=True)
    some = np.maximum(n - nans, 1)
    assert np.array_equal(as_numpy(x.nanmedian(1).values), np.sort(values, 1)[np.arange(len(x)), (some - 1) // 2], equal_nan=True)


@pytest.mark.parametrize("n", WIDTHS)
def test_mode_of_short_rows(n):
    x = rows_of("int64", n)
    values, places = x.mode(1)
    for row, value, place in zip(x.tolist(), values.tolist(), places.tolist()):
        count = max(row.count(v) for v in row)
        assert value == min(v for v in row if row.count(v) == count)
        assert row[place] == value


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "int64", "uint8"])
def test_running_sums_of_short_rows(dtype, n):
    x = torch.tensor(np.random.default_rng(n).integers(0, 3, (1100, n))).to(getattr(torch, dtype))
    exact = x.to(torch.int64).numpy().cumsum(1)
    assert np.array_equal(x.cumsum(1).to(torch.float64).numpy(), torch.tensor(exact).to(x.cumsum(1).dtype).to(torch.float64).numpy())
    one = x.to(torch.float64)
    for rows in (0, 1, 3):
        assert np.array_equal(one[:rows].cumsum(1).numpy(), exact[:rows])
    assert np.array_equal(one[:, ::2].cumprod(1).numpy(), one.numpy()[:, ::2].cumprod(1))
