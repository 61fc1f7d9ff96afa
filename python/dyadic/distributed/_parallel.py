"""Steps over shards of a batch: equal bits on any number of processes."""
from contextlib import contextmanager

from .. import _dyadic


in_shard = False  # a DataParallel computes its shards


class DataParallel:
    """Training in which a batch is cut into shards whose gradients are added in one order, whoever computes them.

        parallel = distributed.DataParallel(model)
        loss = parallel.backward((x, y), lambda shard: F.cross_entropy(model(shard[0]), shard[1]))
        optimizer.step()

    module   the model; every rank's weights become rank 0's
    shards   that each batch is cut into, at least as many as there are ranks
    spread   what each rank has a part of alone: "none", "states" (the optimizer's), "gradients" (and states) or "parameters" (and both).
             Then only a rank's own parameters have gradients; grad_norm() is that of all, and share() follows the optimizer's step

    A process that was started alone makes the same bits with as many shards."""

    def __init__(self, module, shards=8, spread="none"):
        self.module = module
        self._steps = _dyadic._distributed.DataParallel(module, shards, spread)

    @property
    def shards(self):
        """How many parts each batch is cut into."""
        return self._steps.shards

    def backward(self, batch, loss, scale=1.0):
        """The mean loss of the batch, a float; its gradients, times `scale`, are in the parameters afterwards, on every rank.

        batch   what every rank has alike: a tensor, or lists, tuples and dicts of them, cut along their first dimension
        loss    loss(shard): the mean loss of a shard. Random numbers are counted by shard, running statistics become the mean. A
                SyncBatchNorm normalizes by its shard: ranks that compute several do so one after the other"""
        global in_shard
        before, in_shard = in_shard, True
        try:
            return self._steps.backward(batch, loss, scale)
        finally:
            in_shard = before

    def grad_norm(self, parameters):
        """The 2-norm of all ranks' gradients, a float, the same bits on any number of ranks. Every rank calls it."""
        return self._steps.grad_norm(list(parameters))

    def share(self):
        """After the optimizer's step: every rank's parameters become those of the rank that steps them."""
        self._steps.share()

    @contextmanager
    def gathered(self):
        """Inside, every rank has all parameters. Every rank enters it."""
        held = self._steps.gathered()
        try:
            yield
        finally:
            del held
