"""Linear algebra under PyTorch's names, made from the op records: help(dyadic.linalg.svd). Matrices are the last two dimensions."""
from ._dyadic import LinAlgError  # noqa: F401
from ._records import namespace

globals().update(namespace("linalg"))
