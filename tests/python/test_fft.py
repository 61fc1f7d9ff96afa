"""dyadic.fft against numpy.fft; stft and windows by what must hold."""
import numpy as np
import pytest

import dyadic as dy

NORMS = [None, "backward", "forward", "ortho"]


def random(*shape, seed=0, complex=True):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape) if complex else rng.standard_normal(shape)


def close(actual, expected, atol=1e-12):
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension(name, norm):
    x = random(5, 12, 7, complex=name not in ("rfft", "ihfft"))
    t = dy.from_numpy(x)
    for n in (None, 1, 6, 7, 10, 16, 31):
        for dim in (-1, 0, 1):
            close(getattr(dy.fft, name)(t, n, dim, norm), getattr(np.fft, name)(x, n, dim, norm))
    strided = t.permute(2, 0, 1)[::2]
    close(getattr(dy.fft, name)(strided, norm=norm), getattr(np.fft, name)(strided.numpy(), norm=norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_several_dimensions(name, norm):
    x = random(4, 6, 5, complex=name != "rfft")
    t = dy.from_numpy(x)
    close(getattr(dy.fft, name + "2")(t, norm=norm), getattr(np.fft, name + "2")(x, norm=norm))
    close(getattr(dy.fft, name + "2")(t, (3, 8), (0, 1), norm), getattr(np.fft, name + "2")(x, (3, 8), (0, 1), norm))
    close(getattr(dy.fft, name + "n")(t, norm=norm), getattr(np.fft, name + "n")(x, norm=norm))
    close(getattr(dy.fft, name + "n")(t, (3, 8), norm=norm), getattr(np.fft, name + "n")(x, (3, 8), (-2, -1), norm))
    close(getattr(dy.fft, name + "n")(t, dim=(2, 0), norm=norm), getattr(np.fft, name + "n")(x, None, (2, 0), norm))


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_and_shifts(n):
    np.testing.assert_allclose(dy.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
    np.testing.assert_allclose(dy.fft.rfftfreq(n, 0.5, dtype=dy.float64).numpy(), np.fft.rfftfreq(n, 0.5))
    x = random(n, 4, complex=False)
    close(dy.fft.fftshift(dy.from_numpy(x)), np.fft.fftshift(x))
    close(dy.fft.ifftshift(dy.from_numpy(x), dim=(0,)), np.fft.ifftshift(x, axes=0))


def test_dtypes():
    x = dy.randn(8)
    assert dy.fft.fft(x).dtype == dy.complex64 and dy.fft.fft(x.to(dy.float64)).dtype == dy.complex128
    assert dy.fft.rfft(x.to(dy.bfloat16)).dtype == dy.complex64 and dy.fft.irfft(dy.fft.rfft(x)).dtype == dy.float32
    assert dy.fft.fft(dy.arange(4)).tolist() == [6, -2 + 2j, -2, -2 - 2j]
    with pytest.raises(TypeError, match="fft.rfft: needs real numbers"):
        dy.fft.rfft(dy.fft.fft(x))
    with pytest.raises(ValueError, match='unknown norm "unit"'):
        dy.fft.fft(x, norm="unit")


def test_large_primes():
    x = random(100_003)
    np.testing.assert_allclose(dy.fft.fft(dy.from_numpy(x)).numpy(), np.fft.fft(x), atol=1e-9)


def test_gradient_is_the_adjoint():
    """<fft(x), g> = <x, gradient>, the gradient of a linear map."""
    x = dy.from_numpy(random(3, 10)).requires_grad_()
    y = dy.fft.fft(x, 7)
    g = random(*y.shape, seed=1)
    y.backward(dy.from_numpy(g))
    np.testing.assert_allclose(np.vdot(g, y.detach().numpy()), np.vdot(x.grad.numpy(), x.detach().numpy()), rtol=1e-12)


def test_windows():
    for name in ("hamming", "hann", "blackman", "bartlett"):
        window = getattr(dy, name + "_window")
        numpy = {"hann": np.hanning}.get(name) or getattr(np, name)
        for n in (2, 5, 8):
            np.testing.assert_allclose(window(n, False, dtype=dy.float64).numpy(), numpy(n), atol=1e-15)
            np.testing.assert_allclose(window(n).numpy(), numpy(n + 1)[:-1], atol=1e-6)
    np.testing.assert_allclose(dy.kaiser_window(7, False, 5.0, dtype=dy.float64).numpy(), np.kaiser(7, 5.0), rtol=1e-7)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("n_fft, hop, length", [(16, 4, 16), (15, 5, 12), (8, 3, 8)])
def test_short_time_transforms(n_fft, hop, length, normalized):
    x = random(2, 61, complex=False)
    window = dy.hann_window(length, dtype=dy.float64) + 0.1
    s = dy.stft(dy.from_numpy(x), n_fft, hop, length, window, normalized=normalized, return_complex=True)
    padded = np.pad(x, ((0, 0), (n_fft // 2, n_fft // 2)), "reflect")
    left = (n_fft - length) // 2
    full = np.pad(window.numpy(), (left, n_fft - length - left))
    frames = [np.fft.rfft(padded[:, k : k + n_fft] * full) for k in range(0, padded.shape[1] - n_fft + 1, hop)]
    close(s, np.stack(frames, -1) / (np.sqrt(n_fft) if normalized else 1))
    close(dy.istft(s, n_fft, hop, length, window, normalized=normalized, length=s.shape[-1] * hop - hop), x[:, : s.shape[-1] * hop - hop])
