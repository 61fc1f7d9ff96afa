"""The standard's extension for Fourier transforms, on dyadic.fft."""
from .. import fft as _fft

__all__ = "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn".split()


def _along(name):
    transform = getattr(_fft, name)

    def along(x, /, *, n=None, axis=-1, norm="backward"):
        return transform(x, n, axis, norm)

    _named(along, name, transform)


def _over(name):
    transform = getattr(_fft, name)

    def over(x, /, *, s=None, axes=None, norm="backward"):
        return transform(x, None if s is None else list(s), None if axes is None else list(axes), norm)

    _named(over, name, transform)


def _named(function, name, transform):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = transform.__doc__.split("\n\n")[0]
    globals()[name] = function


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _along(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _over(_name)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of fft's results, for samples d apart."""
    return _fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of rfft's results, for samples d apart."""
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x, /, *, axes=None):
    """Frequency 0 in the middle."""
    return _fft.fftshift(x, [axes] if isinstance(axes, int) else axes)


def ifftshift(x, /, *, axes=None):
    """fftshift undone."""
    return _fft.ifftshift(x, [axes] if isinstance(axes, int) else axes)
