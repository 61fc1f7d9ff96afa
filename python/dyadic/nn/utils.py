"""What training loops do to gradients."""
from ..autograd import no_grad
from ..optim import clip_factor, grad_norm


@no_grad()
def clip_grad_norm_(parameters, max_norm):
    """Scales the gradients in place so that their common 2-norm is at most max_norm; returns the norm they had. Without a pass
    over memory of its own: optimizer.step(grad_scale=clip_factor(grad_norm(parameters), max_norm)).
    """
    parameters = list(parameters)
    norm = grad_norm(parameters)
    factor = clip_factor(norm, max_norm)
    if factor < 1:
        for p in parameters:
            if p.grad is not None:
                p.grad.mul_(factor)
    return norm
