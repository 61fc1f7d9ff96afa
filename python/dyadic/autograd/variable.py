"""PyTorch's older word for tensors with gradients."""


from .._dyadic import Tensor


class _Variables(type):
    def __instancecheck__(cls, value):
        return isinstance(value, Tensor)

    def __call__(cls, data, requires_grad=False):
        return data.requires_grad_() if requires_grad else data


class Variable(metaclass=_Variables):
    """Variable(data) is data itself, and every tensor is one: tensors have been variables for long."""
