"""PyTorch's builder of extensions in C++, of which setup files ask what is there."""
from .._absent import names_of

CUDA_HOME = ROCM_HOME = None  # there is no GPU
__getattr__ = names_of(__name__)
