"""Numbers that are on the edge: of a dtype, of a size, of what a machine holds."""
import numpy as np
import pytest

import dyadic as dy


def test_rounding_and_overflow():
    x = dy.tensor([1e9, -1e9, 0.3])
    assert x.to(dy.float16, overflow="saturate").tolist() == [65504.0, -65504.0, 0.300048828125]
    assert x.to("u8", overflow="saturate").tolist() == [255, 0, 0]
    dy.manual_seed(3)
    a = dy.full([1000], 1.03).to("f8e4m3fn", rounding="stochastic").float()
    assert set(a.tolist()) == {1.0, 1.125}
    with pytest.raises(ValueError, match="unknown rounding"):
        x.to("bf16", rounding="up")


def test_precision():
    x = dy.tensor([1 + 1.5 * 2**-10])
    assert dy.round_to(x, dy.tf32).item() == 1 + 2**-9 and dy.round_to(x, "bf16").item() == 1.0
    assert dy.get_float32_matmul_precision() == "highest"
    dy.set_float32_matmul_precision("high")
    assert (x.view(1, 1) @ dy.ones(1, 1)).item() == 1 + 2**-9
    dy.set_float32_matmul_precision("highest")


def test_operators_of_integers_and_truth():
    a, b = np.arange(-4, 5), np.array([3, -3, 2, -2, 1, 5, 7, -7, 4])
    x, y = dy.from_numpy(a), dy.from_numpy(b)
    for name in ("floordiv", "mod", "and", "or", "xor"):
        operator = f"__{name}__"
        np.testing.assert_array_equal(getattr(x, operator)(y).numpy(), getattr(a, operator)(b), err_msg=name)
    np.testing.assert_array_equal((7 // y).numpy(), 7 // b)
    np.testing.assert_array_equal((7 % y).numpy(), 7 % b)
    np.testing.assert_array_equal((~x).numpy(), ~a)
    np.testing.assert_array_equal((x << 2).numpy(), a << 2)
    np.testing.assert_array_equal((x >> 1).numpy(), a >> 1)
    np.testing.assert_allclose((dy.tensor([5.5, -5.5]) // 2).numpy(), [2, -3])
    np.testing.assert_allclose((dy.tensor([5.5, -5.5]) % 2).numpy(), [1.5, 0.5])
    assert (~dy.tensor([True, False])).tolist() == [False, True]
    assert (dy.tensor([True, True]) ^ dy.tensor([True, False])).tolist() == [False, True]
    x //= 2
    x &= 3
    np.testing.assert_array_equal(x.numpy(), a)  # the same memory
    np.testing.assert_array_equal(a, (np.arange(-4, 5) // 2) & 3)


def test_numbers_are_compared_in_the_dtype_of_the_tensor():
    x = dy.tensor([0.1, 0.3, 0.7], dtype=dy.bfloat16)
    assert (x == 0.3).tolist() == (x == dy.tensor(0.3, dtype=dy.float64)).tolist() == [False, True, False]
    assert ((dy.ones(3).half() * 0.1) >= 0.1).all()


def test_norms_of_halves_do_not_leave_their_range():
    x = dy.full((3,), 300.0, dtype=dy.float16, requires_grad=True)
    n = x.norm()
    assert n.dtype == dy.float16 and n.item() == 519.5
    n.backward()
    np.testing.assert_allclose(x.grad.numpy(), 0.577, atol=1e-3)
    F = dy.nn.functional
    np.testing.assert_allclose(F.normalize(dy.full((2, 3), 200.0).half()).numpy(), 0.577, atol=1e-3)
    assert F.cosine_similarity(dy.full((1, 3), 200.0).half(), dy.full((1, 3), 300.0).half()).item() == 1


def test_sums_in_the_integer_dtype_that_is_asked_for():
    assert dy.ones(3, dtype=dy.int32).sum(dtype=dy.int32).dtype == dy.int32
    s = (dy.ones(3, dtype=dy.uint8) * 200).sum(dtype=dy.uint8)
    assert s.dtype == dy.uint8 and s.item() == 88
    assert dy.full((2,), 3, dtype=dy.int16).prod(dtype=dy.int16).dtype == dy.int16
    assert dy.ones(3, dtype=dy.uint8).sum().dtype == dy.int64


def test_numbers_that_do_not_fit_are_refused():
    for data, dtype in [([300], dy.uint8), (2**31, dy.int32), (float("nan"), dy.int64), ([128], dy.int8), ([-129], dy.int8)]:
        with pytest.raises(RuntimeError, match="does not fit"):
            dy.tensor(data, dtype=dtype)
    assert dy.tensor([-1, 255], dtype=dy.uint8).tolist() == [255, 255] and dy.tensor([-128.9], dtype=dy.int8).item() == -128
    with pytest.raises(TypeError):
        dy.tensor(1j, dtype=dy.float32)
    assert dy.tensor([dy.tensor([1.5]), dy.tensor([2.0])]).tolist() == [1.5, 2]
    with pytest.raises(RuntimeError):
        dy.tensor([2]) ** -1
    assert dy.Tensor(dy.ones(2, 3).shape).shape == (2, 3)


def test_integer_tensors_stand_for_sizes():
    n = dy.tensor(3)
    assert dy.zeros(2, n).shape == (2, 3) and dy.zeros(n).shape == (3,) and dy.ones(3, 2).reshape(n, -1).shape == (3, 2)
    assert dy.nn.functional.one_hot(dy.tensor([0, 2]), n).shape == (2, 3) and dy.arange(6.0).topk(n)[0].shape == (3,)
    assert dy.linalg.cholesky(input=dy.eye(2)).shape == (2, 2) and dy.fft.fft(input=dy.ones(4)).shape == (4,)


def test_draws_that_a_dtype_cannot_hold_are_refused():
    for draw in (lambda: dy.randint(0, 300, (2,), dtype=dy.uint8), lambda: dy.randperm(300, dtype=dy.uint8)):
        with pytest.raises(RuntimeError, match="dtype holds no such integers"):
            draw()
    assert dy.randint(0, 256, (2,), dtype=dy.uint8).dtype == dy.uint8
    with pytest.raises(RuntimeError, match="one entry per class"):
        dy.nn.functional.nll_loss(dy.ones(2, 3), dy.tensor([0, 1]), weight=dy.ones(2))


def test_more_memory_than_the_machine_has_is_refused():
    with pytest.raises(dy.OutOfMemoryError, match="this machine has"):
        dy.empty(2**45)
    with pytest.raises(dy.OutOfMemoryError):
        dy.bincount(dy.tensor([2**45]))


@pytest.mark.parametrize("n", [2, 5000])
def test_the_mean_of_infinities(n):
    for k in (0, n - 1):
        x = dy.ones(n, 3)
        x[k, 0], x[k, 1] = float("inf"), float("-inf")
        x[n - 1 - k, 1] = float("inf")
        for dim, y in ((0, x), (1, x.T.contiguous())):
            squares, mean = dy.var_mean(y, dim)
            assert mean[0] == float("inf") and mean[1].isnan() and mean[2] == 1 and squares[:2].isnan().all() and squares[2] == 0
