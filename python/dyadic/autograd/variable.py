"""PyTorch's older word for tensors with gradients."""


def Variable(data, requires_grad=False):
    """data itself: tensors have been variables for long."""
    return data.requires_grad_() if requires_grad else data
