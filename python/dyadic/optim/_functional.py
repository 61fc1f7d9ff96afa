"""Adam and AdamW as functions of lists, PyTorch's: everything that an optimizer keeps is an argument and changed in place."""
from ..autograd import no_grad
from .._ignored import ignored as _ignored


@_ignored("foreach", "capturable", "fused", "has_complex", why="there is one way", of="optim.adam.adam")
@no_grad()
def adam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    max_exp_avg_sqs,
    state_steps,
    foreach=None,
    capturable=False,
    differentiable=False,
    fused=None,
    grad_scale=None,
    found_inf=None,
    has_complex=False,
    decoupled_weight_decay=False,
    *,
    amsgrad,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    maximize,
):
    """One step of Adam; state_steps are tensors of counts. optim.Adam does the same in one pass."""
    if grad_scale is not None or found_inf is not None:
        raise RuntimeError("adam: grad_scale and found_inf belong to fused kernels, which this function has not; unscale the gradients first")
    if differentiable:
        raise RuntimeError("adam: differentiable=True: a step is not recorded here, no gradient would go through it; leave it out")
    for i, (p, g, m, v, step) in enumerate(zip(params, grads, exp_avgs, exp_avg_sqs, state_steps)):
        g = -g if maximize else g
        step.add_(1)
        if weight_decay and decoupled_weight_decay:
            p.mul_(1 - lr * weight_decay)
        elif weight_decay:
            g = g.add(p, alpha=weight_decay)
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g.conj(), value=1 - beta2)
        largest = v
        if amsgrad:
            largest = max_exp_avg_sqs[i].copy_(max_exp_avg_sqs[i].maximum(v))
        n = step.item()
        p.addcdiv_(m, (largest.sqrt() / (1 - beta2**n) ** 0.5).add_(eps), value=-float(lr) / (1 - beta1**n))


def adamw(*args, **options):
    """One step of AdamW: adam, of the same arguments, with decoupled weight decay."""
    adam(*args, decoupled_weight_decay=True, **options)
