"""PyTorch's place of functions of tensors that are written in Python there."""
import dyadic as _all

__all__ = """
atleast_1d atleast_2d atleast_3d align_tensors broadcast_shapes broadcast_tensors cartesian_prod block_diag cdist chain_matmul einsum
lu meshgrid norm split stft istft tensordot unique unique_consecutive unravel_index
""".split()
__all__ = [name for name in __all__ if hasattr(_all, name)]
globals().update({name: getattr(_all, name) for name in __all__})
