"""What PyTorch's transforms of functions ask of tensors."""
from .. import _dyadic


def is_batchedtensor(tensor):
    """Whether it stands for all entries of a vmap."""
    return _dyadic._is_batched(tensor)


is_legacy_batchedtensor = is_batchedtensor


def is_gradtrackingtensor(tensor):
    """False: derivatives wrap no tensors."""
    return tensor is None


def is_functorch_wrapped_tensor(tensor):
    """Whether a transform has made it stand for others."""
    return is_batchedtensor(tensor)
