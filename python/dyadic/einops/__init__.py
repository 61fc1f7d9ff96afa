"""Dimensions by name: rearrange(x, "b t (h d) -> b h t d", h=8), reduce, repeat, einsum, pack, unpack, parse_shape.

Their modules are in dyadic.einops.layers."""
from .. import _dyadic

einsum, pack, parse_shape, rearrange, reduce, repeat, unpack = (
    getattr(_dyadic._einops, _name) for _name in ("einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack")
)

__all__ = ["einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]
