"""Models whose parameters, gradients and states are spread over ranks, by PyTorch's names."""
from contextlib import contextmanager

from ... import _dyadic
from ..._absent import names_of
from ..._dyadic import Module
from ..._ignored import ignored

_calls = _dyadic._distributed


class FSDPModule:
    """What fully_shard() makes a module's class derive from."""

    @ignored("async_op", why="the call has been done when it returns")
    def unshard(self, async_op=False):
        """All parameters of the module are on every rank, until reshard(). Every rank calls it."""
        _calls.unshard(self)

    def reshard(self):
        """Parameters of other ranks go again."""
        _calls.reshard(self)


@ignored("mesh", "shard_placement_fn", why="there is one group, of all ranks, and a parameter belongs to one of them as a whole")
def fully_shard(module, *, mesh=None, reshard_after_forward=True, shard_placement_fn=None, mp_policy=None, offload_policy=None, ignored_params=None):
    """Spreads the module's parameters that no module inside of it has taken over all ranks; the module comes back. Call it for the layers,
    then for the model, on every rank, and make the optimizer after it.

    Each parameter belongs to one rank as a whole, which has its values, its gradient and the optimizer's states of it; with other ranks
    it keeps its shape, and reading it is an error. It is gathered when its module is called and when the module's backward begins, and
    gradients go to their ranks when that has ended: they are the mean over ranks. So optimizers of every kind work as on one rank, and
    frozen weights stay in their format (nf4, q4_K ...). Weights become rank 0's.

    reshard_after_forward   False: between forward and backward the parameters stay
    mp_policy               ValueError where it is given: precision is autocast's; offload_policy and ignored_params: likewise, there are none"""
    for name, value in (("mp_policy", mp_policy), ("offload_policy", offload_policy), ("ignored_params", ignored_params)):
        if value:
            raise ValueError(f"fully_shard: {name} is not here; precision is autocast's or the parameters' own, and all of them are spread")
    from .. import is_initialized

    if not is_initialized():
        raise ValueError("fully_shard: there is no process group; call distributed.init_process_group() first")
    _calls.fully_shard(module, bool(reshard_after_forward))
    cls = type(module)
    if not issubclass(cls, FSDPModule):
        module.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {})
    return module


class FullyShardedDataParallel(Module):
    """The module, at .module, spread over ranks as fully_shard() does it: elements of nn.ModuleLists each by themselves, then the rest.

    module   its weights become rank 0's
    precision, offloading and wrapping have no settings: autocast has the first, there is no second, and units are found as said"""

    @ignored(
        "process_group", "sharding_strategy", "auto_wrap_policy", "backward_prefetch", "param_init_fn", "device_id", "sync_module_states", "forward_prefetch",
        "limit_all_gathers", "use_orig_params", "device_mesh",
        why="there is one group and one device; units are the elements of ModuleLists, gathered when they run",
    )
    def __init__(
        self,
        module,
        process_group=None,
        sharding_strategy=None,
        cpu_offload=None,
        auto_wrap_policy=None,
        backward_prefetch=None,
        mixed_precision=None,
        ignored_modules=None,
        param_init_fn=None,
        device_id=None,
        sync_module_states=False,
        forward_prefetch=False,
        limit_all_gathers=True,
        use_orig_params=False,
        ignored_states=None,
        device_mesh=None,
    ):
        super().__init__()
        for name, value in (("cpu_offload", cpu_offload), ("mixed_precision", mixed_precision), ("ignored_modules", ignored_modules), ("ignored_states", ignored_states)):
            if value:
                raise ValueError(f"FullyShardedDataParallel: {name} is not here; precision is autocast's or the parameters' own, and all of them are spread")
        from ...nn import ModuleList

        self.module = module
        inside = []
        for name, part in module.named_modules():
            if isinstance(part, ModuleList) and not any(name.startswith(f"{outer}.") for outer in inside):
                inside.append(name)
                for element in part:
                    fully_shard(element)
        fully_shard(module)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    @staticmethod
    @contextmanager
    @ignored("recurse", "writeback", "rank0_only", "offload_to_cpu", "with_grads", why="every rank has all of them, and what is written into its own stays")
    def summon_full_params(module, recurse=True, writeback=True, rank0_only=False, offload_to_cpu=False, with_grads=False):
        """Inside, every rank has all parameters. Every rank enters it."""
        _calls.unshard(module)
        try:
            yield
        finally:
            _calls.reshard(module)

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        """nn.utils.clip_grad_norm_ of all parameters, those of other ranks included. Every rank calls it."""
        from ...nn.utils import clip_grad_norm_

        return clip_grad_norm_(self.parameters(), max_norm, norm_type)


__getattr__ = names_of(__name__)
