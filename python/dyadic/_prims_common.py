"""Inner types of PyTorch, for annotations."""
from collections.abc import Sequence

from ._dyadic import Tensor

TensorLikeType = TensorLike = Tensor
NumberType = bool | int | float | complex
Number = NumberType
ShapeType = list[int] | tuple[int, ...]
DimsType = int | list[int] | tuple[int, ...]
DimsSequenceType = StrideType = Sequence[int]
