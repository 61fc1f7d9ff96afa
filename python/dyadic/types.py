"""Types for annotations, by PyTorch's names."""
import builtins
import os
from typing import IO, Sequence, Union

from ._dyadic import Tensor, device, dtype
from ._storage import TypedStorage, UntypedStorage

Number = Union[builtins.int, builtins.float, builtins.bool]
Device = Union[device, builtins.str, builtins.int, None]
FileLike = Union[builtins.str, os.PathLike, IO[builtins.bytes]]
Storage = Union[UntypedStorage, TypedStorage]

_bool, _bytes, _complex, _float, _int = builtins.bool, builtins.bytes, builtins.complex, builtins.float, builtins.int
_dtype, _device, _size = dtype, device, Sequence[builtins.int]
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]

__all__ = ["Device", "FileLike", "Number", "Storage"]
