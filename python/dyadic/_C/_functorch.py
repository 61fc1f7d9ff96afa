"""What PyTorch's transforms of functions ask of tensors: theirs are wrapped, the ones here are not."""


def is_legacy_batchedtensor(tensor):
    """False: vmap wraps no tensors."""
    return tensor is None


def is_batchedtensor(tensor):
    """False: vmap wraps no tensors."""
    return tensor is None


def is_gradtrackingtensor(tensor):
    """False: derivatives wrap no tensors."""
    return tensor is None


is_functorch_wrapped_tensor = is_gradtrackingtensor
