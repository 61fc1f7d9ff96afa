"""PyTorch's errors of the compiler's front."""


class TorchDynamoException(RuntimeError):
    """Of the compiler's front."""


class InvalidBackend(TorchDynamoException):
    """A backend that nobody knows by this name."""
