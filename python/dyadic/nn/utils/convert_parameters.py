"""PyTorch's place of parameters as a vector."""
from . import parameters_to_vector, vector_to_parameters  # noqa: F401
