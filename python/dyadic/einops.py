"""Dimensions by name: rearrange(x, "b t (h d) -> b h t d", h=8), reduce, repeat, einsum, pack, unpack, parse_shape."""
from ._dyadic._einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack

__all__ = ["einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]
