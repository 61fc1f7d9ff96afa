"""Questions about PyTorch's compiler."""


def is_compile_supported(device_type):
    """False: there is no compiler, for no device."""
    return device_type is None
