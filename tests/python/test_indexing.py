"""Indexing, read and written, against numpy."""
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


MASK = np.array([[True, False, True, False], [False] * 4, [True, True, False, True]])
ADVANCED = [
    [0, 2],
    [[0, -1], [1, 1]],
    np.array([2, 0, 1]),
    np.array([1], dtype=np.int32),
    [],
    [True, False, True],
    MASK,
    MASK[0:0].any(),
    True,
    False,
    np.zeros((3, 4, 5), bool),
    np.arange(60).reshape(3, 4, 5) % 7 == 2,
    (slice(None), [3, 0]),
    (..., [4, 4, 0]),
    ([0, 1], [2, 3]),
    ([[0], [1]], [2, 3]),
    ([0, 1], slice(None), [2, 3]),
    (slice(1, None), [0, 1], [2, 3]),
    ([0, 1], ..., [2, 3]),
    ([0, 1], None, [2, 3]),
    (None, [0, 1], [2, 3]),
    (slice(None, None, 2), slice(None), [1, 1]),
    (MASK[:, 0], slice(1, 3)),
    (MASK, 2),
    (MASK, [0, 1, 2, 3, 4]),
    (slice(None), MASK[0], [0, 1]),
    (slice(None), np.arange(20).reshape(4, 5) % 3 == 0),
    (1, MASK[0]),
    (True, [0, 1]),
    (None, MASK),
]


def as_ours(key):
    """The same key with tensors in the place of arrays."""
    if isinstance(key, tuple):
        return tuple(as_ours(k) for k in key)
    if isinstance(key, (np.bool_, bool)):
        return bool(key)
    return dy.tensor(key) if isinstance(key, np.ndarray) else key


def as_numpys(key):
    return np.zeros(0, int) if isinstance(key, list) and not key else key


@pytest.mark.parametrize("key", ADVANCED, ids=repr)
def test_reading_at_tensors_and_masks(key):
    a = np.arange(60.0).reshape(3, 4, 5)
    strided = dy.from_numpy(np.arange(60.0).reshape(5, 4, 3).T.copy()).T.clone().T
    for x, array in ((dy.from_numpy(a), a), (strided, strided.numpy())):
        for k in (as_ours(key), key):
            result, expected = x[k], array[as_numpys(key)]
            assert result.shape == expected.shape
            np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("key", ADVANCED, ids=repr)
def test_writing_at_tensors_and_masks(key):
    places = np.zeros((3, 4, 5))[as_numpys(key)]
    for value in (7, -1.5, dy.tensor(3), dy.tensor([4.0]), "every place its own"):
        a = np.arange(60.0).reshape(3, 4, 5)
        x = dy.tensor(a)
        if isinstance(value, str):
            own = np.arange(places.size, dtype=float).reshape(places.shape) + 100
            x[as_ours(key)] = dy.tensor(own)
            a[as_numpys(key)] = own
        else:
            x[as_ours(key)] = value
            a[as_numpys(key)] = np.ravel(value.tolist() if isinstance(value, dy.Tensor) else value)[0]
        np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.parametrize("key", ADVANCED, ids=repr)
def test_gradients_of_indexing(key):
    x = dy.ones(3, 4, 5, requires_grad=True)
    y = x[as_ours(key)]
    weights = np.arange(1.0, y.numel() + 1).reshape(y.shape)
    (y * dy.tensor(weights, dtype=dy.float32)).sum().backward()
    expected = np.zeros((3, 4, 5))
    np.add.at(expected, as_numpys(key), weights)
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_numbers_among_tensors_are_applied_first():
    x = dy.zeros(2, 3, 4)
    assert x[0, :, [0, 1]].shape == (3, 2)  # as PyTorch; numpy puts the index first
    assert x[dy.tensor(0), :, [0, 1]].shape == (3, 2)
    assert x[:, dy.tensor(True)].shape == (2, 1, 3, 4)
    assert x[dy.tensor([1, 0], dtype=dy.uint8)].shape == (1, 3, 4)  # bytes are masks


def test_values_of_other_dtypes_are_converted():
    x = dy.zeros(4, dtype=dy.bfloat16)
    x[[0, 3]] = dy.tensor([1.0, 2.0])
    x[[1]] = 7
    assert x.tolist() == [1, 7, 0, 2]
    packed = dy.zeros(6, dtype="i4")
    packed[[5, 0]] = dy.tensor([3, -2])
    assert packed.tolist() == [-2, 0, 0, 0, 0, 3]
    assert packed[[5, 5]].tolist() == [3, 3] and packed[packed != 0].tolist() == [-2, 3]


def test_index_put():
    x = dy.zeros(3, 3)
    i = dy.tensor([0, 0, 2])
    assert x.index_put((i, i), dy.ones(3), accumulate=True).tolist() == [[2, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert not x.any()
    assert x.index_put_((i,), dy.tensor(4.0)) is x and x[:, 0].tolist() == [4, 0, 4]
    x.index_put_((x > 0,), dy.tensor(-1.0))
    assert x.sum().item() == -6
    y = dy.zeros(3, 2, requires_grad=True)
    v = dy.ones(2, requires_grad=True)
    z = y * 2
    z[[0, 2]] = v
    z.sum().backward()
    assert y.grad.tolist() == [[0, 0], [2, 2], [0, 0]] and v.grad.tolist() == [2, 2]


def test_membership_and_iteration():
    x = dy.tensor([[1, 2], [3, 4]])
    assert 3 in x and 5 not in x and dy.tensor(2) in x and [r.tolist() for r in x] == [[1, 2], [3, 4]] and len(x) == 2
    with pytest.raises(TypeError):
        "a" in x
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(x)
    for bad in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            bad(dy.tensor(1))
    assert dy.tensor(2.5).tolist() == 2.5 and dy.zeros(0, 2).tolist() == [] and dy.zeros(2, 0).tolist() == [[], []]


def test_shapes_that_depend_on_values_need_values():
    x = dy.zeros(3, device="meta")
    for f in (x.nonzero, x.unique, lambda: x[x > 0], lambda: x.masked_select(x > 0), lambda: dy.bincount(x.long())):
        with pytest.raises(ValueError, match="depends on values"):
            f()


def test_named_results():
    x = dy.tensor([[3.0, 1.0, 2.0]])
    r = x.sort()
    assert type(r) is dy.return_types.sort and r.values.tolist() == [[1, 2, 3]] and r.indices.tolist() == [[1, 2, 0]]
    values, indices = x.max(1)
    assert values.tolist() == [3] and indices.tolist() == [0] and x.max().item() == 3
    assert x.max(dim=1).values.tolist() == [3] and dy.max(x, dy.tensor(2.0)).tolist() == [[3, 2, 2]]
    assert x.median(1, keepdim=True).values.tolist() == [[2]] and x.median().item() == 2
    with pytest.raises(TypeError, match="^max: "):
        x.max("a")
    assert [p.shape for p in x.split([1, 2], 1)] == [(1, 1), (1, 2)] and isinstance(x.split(1), tuple)
    assert [t.tolist() for t in dy.where(x > 1)] == [[0, 0], [0, 2]] and x.nonzero().tolist() == [[0, 0], [0, 1], [0, 2]]
    assert [t.tolist() for t in x.nonzero(as_tuple=True)] == [[0, 0, 0], [0, 1, 2]]
    assert dy.unique(dy.tensor([2, 1, 2]), return_counts=True)[1].tolist() == [1, 2] and x.unique().tolist() == [1, 2, 3]
    assert [t.tolist() for t in dy.meshgrid(dy.arange(2), dy.arange(2), indexing="ij")] == [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]


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
        ([0, 3], IndexError, "out of range"),
        ([[0, 1], [0, -4]], IndexError, "index -4 at position 3; dimension 0 has 3 entries"),
        (dy.tensor([0.0, 1.0]), IndexError, "integers or masks"),
        ([0.5], IndexError, "integers or masks"),
        (dy.tensor([True, False]), IndexError, "mask does not fit: it is bool"),
        (([0, 1], [0, 1, 2]), RuntimeError, "broadcast"),
        (1.0, IndexError, "float"),
        ("a", TypeError, "str"),
        (slice(None, None, 0), ValueError, "step"),
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


def test_complex_numbers():
    a = np.array([1 + 2j, 3 - 1j, 0.5j, -2])
    x = dy.tensor(a)
    np.testing.assert_array_equal(x[[3, 0]].numpy(), a[[3, 0]])
    np.testing.assert_array_equal(x[x.abs() > 2].numpy(), a[np.abs(a) > 2])
    np.testing.assert_array_equal(x.cumsum(0).numpy(), a.cumsum())
    np.testing.assert_array_equal(x.flip(0).numpy(), a[::-1])
    y = x.clone()
    y[[1, 2]] = dy.tensor(np.array(1j))
    np.testing.assert_array_equal(y.numpy(), [1 + 2j, 1j, 1j, -2])
    y.index_put_((dy.tensor([0, 0]),), dy.tensor(np.array([1j, 1])), accumulate=True)
    np.testing.assert_array_equal(y.numpy(), [2 + 3j, 1j, 1j, -2])
    with pytest.raises(TypeError, match="complex"):
        x.sort()


def test_large_unsigned_numbers_keep_their_order():
    a = np.array([1, 2**63 + 5, 7, 2**64 - 1, 2**63], dtype=np.uint64)
    x = dy.tensor(a)
    np.testing.assert_array_equal(x.sort().values.numpy(), np.sort(a))
    np.testing.assert_array_equal(x.cummax(0).values.numpy(), np.maximum.accumulate(a))
    assert dy.searchsorted(x.sort().values, dy.tensor(a)).tolist() == [0, 3, 1, 4, 2]


def test_a_short_list_of_positions_stands_for_a_tuple():
    x = dy.arange(24).reshape(2, 3, 4)
    n = x.numpy()
    assert x[[[0, 1], [1, 0]]].shape == (2, 2, 3, 4)
    np.testing.assert_array_equal(x[[dy.tensor([0, 1]), dy.tensor([1, 0])]].numpy(), n[[0, 1], [1, 0]])
    np.testing.assert_array_equal(x[[slice(0, 1), 0]].numpy(), n[0:1, 0])
    np.testing.assert_array_equal(x[[None, 0]].numpy(), n[None, 0])
    np.testing.assert_array_equal(x[[..., 0]].numpy(), n[..., 0])
    np.testing.assert_array_equal(x[list(dy.where(x > 20))].numpy(), n[n > 20])
    assert x[[0, 1]].shape == (2, 3, 4)


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_positions_in_what_is_empty_are_refused(shape):
    x = dy.zeros(*shape)
    with pytest.raises(IndexError):
        x[(dy.tensor([0, 1]),) * len(shape)] = 7.0
    with pytest.raises(IndexError):
        x.put_(dy.tensor([1 << 20]), dy.ones(1))
    y = dy.zeros(3, 0)
    y[dy.tensor([0, 2])] = 1.0  # rows that are there, of no elements


def test_a_tensor_written_over_itself_gets_its_old_values():
    for key, source in [(slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)), (slice(2, None), slice(None, -2))]:
        x, n = dy.arange(6.0), np.arange(6.0)
        x[key] = x[source]
        n[key] = n[source].copy()
        np.testing.assert_array_equal(x.numpy(), n)
    x = dy.arange(9.0).view(3, 3)
    x.copy_(x.t())
    np.testing.assert_array_equal(x.numpy(), np.arange(9.0).reshape(3, 3).T)
    x = dy.arange(4)
    x.scatter_(0, dy.tensor([3, 2, 1, 0]), x)
    assert x.tolist() == [3, 2, 1, 0]
    x = dy.arange(4)
    x[dy.tensor([3, 2, 1, 0])] = x
    assert x.tolist() == [3, 2, 1, 0]


def test_int32_positions():
    i = dy.tensor([2, 0], dtype=dy.int32)
    x = dy.arange(6.0).reshape(3, 2)
    assert dy.nn.functional.embedding(i, x).tolist() == [[4, 5], [0, 1]]
    assert x.index_select(0, i).tolist() == [[4, 5], [0, 1]]
    assert dy.gather(x, 0, i[None]).tolist() == [[4, 1]]
    assert dy.zeros(3).index_add_(0, i, dy.ones(2)).tolist() == [1, 0, 1]
    assert dy.zeros(3).scatter_(0, i, dy.ones(2)).tolist() == [1, 0, 1]


def test_positions_that_do_not_broadcast_are_an_index_error():
    with pytest.raises(IndexError):
        dy.zeros(3, 3)[[0, 1, 2], [0, 1]]
