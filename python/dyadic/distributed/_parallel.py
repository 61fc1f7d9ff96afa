"""Steps over shards of a batch: equal bits on any number of processes."""
from .. import _dyadic


class DataParallel:
    """Training in which a batch is cut into shards whose gradients are added in one order, whoever computes them.

        parallel = distributed.DataParallel(model)
        loss = parallel.backward((x, y), lambda shard: F.cross_entropy(model(shard[0]), shard[1]))
        optimizer.step()

    module   the model; every rank's weights become rank 0's
    shards   that each batch is cut into, at least as many as there are ranks

    A process that was started alone makes the same bits with as many shards."""

    def __init__(self, module, shards=8):
        self.module = module
        self._steps = _dyadic._distributed.DataParallel(module, shards)

    @property
    def shards(self):
        """How many parts each batch is cut into."""
        return self._steps.shards

    def backward(self, batch, loss, scale=1.0):
        """The mean loss of the batch, a float; its gradients, times `scale`, are in the parameters afterwards, on every rank.

        batch   what every rank has alike: a tensor, or lists, tuples and dicts of them, cut along their first dimension
        loss    loss(shard): the mean loss of a shard. Random numbers are counted by shard, running statistics become the mean."""
        return self._steps.backward(batch, loss, scale)
