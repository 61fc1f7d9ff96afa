"""ExponentialFamily: PyTorch's."""
from ..autograd import enable_grad, grad, is_grad_enabled
from .distribution import Distribution


class ExponentialFamily(Distribution):
    """Base for distributions of one's own with density exp(<t(x), theta> - F(theta) + k(x)): natural parameters theta, log normalizer F and the
    mean of k give the entropy. Those of the library have entropies of their own, and are no instances of it."""

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        """By the gradient of the log normalizer, a Bregman divergence. (Nielsen and Nock 2010.)"""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        with enable_grad():
            normalizer = self._log_normalizer(*params)
            gradients = grad(normalizer.sum(), params, create_graph=is_grad_enabled())
        result = normalizer - self._mean_carrier_measure
        for p, g in zip(params, gradients):
            result = result - (p * g).reshape([*self._batch_shape, -1]).sum(-1)
        return result
