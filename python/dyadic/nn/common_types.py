"""PyTorch's names of types in signatures of layers."""
from .._dyadic import Tensor as T

_scalar_or_tuple_any_t = _size_any_t = int | tuple[int, ...]
_size_1_t = int | tuple[int]
_size_2_t = int | tuple[int, int]
_size_3_t = int | tuple[int, int, int]
_size_4_t = int | tuple[int, int, int, int]
_size_5_t = int | tuple[int, int, int, int, int]
_size_6_t = int | tuple[int, int, int, int, int, int]
_ratio_2_t = float | tuple[float, float]
_ratio_3_t = float | tuple[float, float, float]
_ratio_any_t = float | tuple[float, ...]
_maybe_indices_t = T | tuple[T, T]
