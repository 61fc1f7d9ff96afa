"""Basic indexing, read and written, against numpy."""
import numpy as np
import pytest

import dyadic as dy

KEYS = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(-2, 100),
    slice(0, 3, 2),
    slice(2, 1),
    None,
    ...,
    (),
    (0, 1, 2),
    (0, ..., -1),
    (..., None),
    (None, 1, None),
    (slice(None), 2),
    (slice(1, 3), slice(None, None, 3), slice(-1, None)),
    (..., slice(1, 2), 0),
    (slice(None), None, slice(None), 1),
    np.int64(1),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading(key):
    a = np.arange(60.0).reshape(3, 4, 5)
    for x, array in ((dy.from_numpy(a), a), (dy.from_numpy(a).T, a.T)):
        view = x[key]
        np.testing.assert_array_equal(view.numpy(), array[key])
        assert view is not x
        if view.numel():
            assert x.data_ptr() <= view.data_ptr() < x.data_ptr() + x.nbytes


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_writing(key):
    for value in (7, -1.5, True, np.float32(2), dy.tensor(3), dy.tensor([4.0]), [5]):
        a = np.arange(60.0).reshape(3, 4, 5)
        x = dy.tensor(a)
        x[key] = value
        a[key] = np.ravel(value.tolist() if isinstance(value, dy.Tensor) else value)[0]
        np.testing.assert_array_equal(x.numpy(), a)


def test_assignments():
    x = dy.zeros(2, 3)
    x[0] = dy.tensor([1, 2, 3])
    x[:, 1] += 5
    x[1, :2] = x[0, 1:]
    assert x.tolist() == [[1, 7, 3], [7, 3, 0]]
    x[dy.tensor(1)] = [[9, 9, 9]]
    assert x[1].tolist() == [9, 9, 9]
    x[...] = 0
    assert not x.any()
    with pytest.raises(RuntimeError):
        x[0] = dy.ones(2)
    with pytest.raises(TypeError, match="deleted"):
        del x[0]


@pytest.mark.parametrize(
    "key, error, text",
    [
        (3, IndexError, "out of bounds"),
        (-4, IndexError, "out of bounds"),
        ((0, 0, 0, 0), IndexError, "too many"),
        ((..., ...), IndexError, r"\.\.\."),
        ([0, 1], TypeError, "list"),
        (dy.tensor([0, 1]), TypeError, "Tensor"),
        (dy.tensor([True, False, True]), TypeError, "Tensor"),
        (True, TypeError, "bool"),
        (1.0, TypeError, "float"),
        ("a", TypeError, "str"),
        (slice(None, None, -1), ValueError, "step"),
        (slice(0, 1.5), TypeError, "slice"),
    ],
)
def test_bad_index(key, error, text):
    x = dy.zeros(3, 4, 5)
    with pytest.raises(error, match=text):
        x[key]
    with pytest.raises(error, match=text):
        x[key] = 1
    with pytest.raises(IndexError):
        dy.tensor(1)[0]


def test_gradients_flow_through_views():
    x = dy.ones(3, 4, requires_grad=True)
    (x[1:, ::2].sum() + 3 * x[0, 1]).backward()
    expected = np.zeros((3, 4))
    expected[1:, ::2] = 1
    expected[0, 1] = 3
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    with pytest.raises(RuntimeError):
        x[0] = 1
    with dy.no_grad():
        x[0] = 5
    assert x[0].tolist() == [5] * 4
