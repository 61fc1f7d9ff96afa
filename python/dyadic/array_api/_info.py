"""What the namespace says of itself."""
from .. import _dyadic
from ._dtypes import KINDS, isdtype
from .._ignored import ignored as _ignored


class __array_namespace_info__:
    """Devices, dtypes and capabilities."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self):
        return _dyadic.device("cpu")

    @_ignored("device", why="every device has the same dtypes")
    def default_dtypes(self, *, device=None):
        real = _dyadic.get_default_dtype()
        return {"real floating": real, "complex floating": real.to_complex(), "integral": _dyadic.int64, "indexing": _dyadic.int64}

    def devices(self):
        return [_dyadic.device("cpu"), _dyadic.device("meta")]

    @_ignored("device", why="every device has the same dtypes")
    def dtypes(self, *, device=None, kind=None):
        every = {d.long_name: d for kinds in (KINDS["bool"], KINDS["numeric"]) for d in kinds}
        return {name: d for name, d in every.items() if kind is None or isdtype(d, kind)}
