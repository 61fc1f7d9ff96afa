"""Details that programs for PyTorch rely on without saying so: each was found by running one."""
import copy
import inspect
import pickle
import weakref

import pytest

import dyadic as torch
from dyadic import nn
from dyadic.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, SequentialSampler, TensorDataset


def test_devices_and_dtypes_compare_with_anything():
    cpu = torch.device("cpu")
    assert cpu != None and not cpu == None and cpu != "cpu" and cpu not in (None, "cpu", 0) and cpu == torch.device("cpu")  # noqa: E711
    assert torch.float32 != None and torch.float32 != "float32" and torch.float32 not in (None, "x")  # noqa: E711


def test_numbers_alone_are_added_and_divided():
    for made, value, dtype in [  # PyTorch's
        (torch.add(7, 2), 9, torch.int64),
        (torch.add(7.5, 2), 9.5, torch.float32),
        (torch.sub(7, 2), 5, torch.int64),
        (torch.mul(True, 2), 2, torch.int64),
        (torch.div(7, 2), 3.5, torch.float32),
        (torch.div(7, 2, rounding_mode="floor"), 3, torch.int64),
        (torch.div(-7, 2, rounding_mode="trunc"), -3, torch.int64),
        (torch.floor_divide(7.5, 2), 3, torch.float32),
    ]:
        assert made.item() == value and made.dtype == dtype and made.shape == ()
    for call in (lambda: torch.maximum(1, 2), lambda: torch.pow(2, 3), lambda: torch.sqrt(2)):
        with pytest.raises(TypeError, match="self is int; it takes a Tensor or a number"):
            call()


def test_numpy_takes_parameters_where_nothing_is_recorded():
    p = nn.Parameter(torch.ones(2))
    with torch.no_grad():
        p.numpy()[0] = 3
    assert p.tolist() == [3, 1]
    with pytest.raises(RuntimeError, match="numpy: the tensor requires grad"):
        p.numpy()


def test_named_buffers_that_are_shared():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            shared = torch.ones(2)
            self.register_buffer("a", shared)
            self.register_buffer("b", shared)
            self.register_buffer("c", None)
            self.inner = nn.BatchNorm1d(1)

    names = lambda **o: [name for name, _ in Both().named_buffers(**o)]  # noqa: E731
    rest = ["inner.running_mean", "inner.running_var", "inner.num_batches_tracked"]
    assert names() == ["a", *rest] and names(remove_duplicate=False) == ["a", "b", *rest]
    assert names(recurse=False, prefix="m") == ["m.a"] and len(list(Both().buffers())) == 4 and len(list(Both().buffers(recurse=False))) == 1


def test_copies_have_hooks_that_are_bound_to_copies():
    class Parent(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.seen = nn.Linear(2, 2), 0
            self.inner.register_forward_hook(self.count)

        def count(self, module, args, output):
            self.seen += 1

        def forward(self, x):
            return self.inner(x)

    first = Parent()
    second = copy.deepcopy(first)
    second(torch.ones(1, 2))
    assert (first.seen, second.seen) == (0, 1)
    third = pickle.loads(pickle.dumps(Local(2)))
    third(torch.ones(1, 2))
    assert third.seen == 1


class Local(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.inner, self.seen = nn.Linear(n, n), 0
        self.inner.register_forward_pre_hook(self.count)

    def count(self, module, args):
        self.seen += 1

    def forward(self, x):
        return self.inner(x)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


class Numbers(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([1, 2])


def test_functions_and_datasets_are_pickled():
    for value in (torch.manual_seed, torch.utils.data.default_collate, torch.relu, nn.functional.gelu, torch.nn.init.zeros_, Squares):
        assert pickle.loads(pickle.dumps(value)) is value and copy.deepcopy(value) is value
    again = pickle.loads(pickle.dumps(Squares(3)))
    assert [again[i] for i in range(len(again))] == [0, 1, 4]
    whole = TensorDataset(torch.arange(4.0), torch.arange(4))
    parts = [whole, torch.utils.data.Subset(whole, [3, 1]), torch.utils.data.ConcatDataset([whole, Squares(2)])]
    for data in parts:
        for made in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
            assert type(made) is type(data) and len(made) == len(data) and str(made[1]) == str(data[1])
    sampler = pickle.loads(pickle.dumps(BatchSampler(RandomSampler(Squares(3), True, 4), 2, True)))
    assert sampler.batch_size == 2 and sampler.sampler.replacement and len(sampler) == 2
    assert list(pickle.loads(pickle.dumps(Numbers()))) == [1, 2]
    assert list(pickle.loads(pickle.dumps(SequentialSampler(Squares(3))))) == [0, 1, 2]
    with pytest.raises(TypeError, match="a WeightedRandomSampler is not pickled"):
        pickle.dumps(torch.utils.data.WeightedRandomSampler([1.0], 1))
    for word in (torch.strided, torch.channels_last, torch.channels_last_3d, torch.contiguous_format):
        assert copy.deepcopy(word) is word and pickle.loads(pickle.dumps(word)) is word


def test_samplers_say_what_they_were_given():
    data = Squares(5)
    sampler = RandomSampler(data, replacement=True, num_samples=7)
    assert sampler.data_source is data and sampler.replacement and sampler.num_samples == 7 and sampler._num_samples == 7
    plain = RandomSampler(data)
    assert plain.data_source is data and not plain.replacement and plain.num_samples == 5 and plain._num_samples is None
    loader = DataLoader(TensorDataset(torch.ones(4)), shuffle=True)
    assert isinstance(loader.sampler, RandomSampler) and not loader.sampler.replacement and len(loader.sampler.data_source) == 4
    assert SequentialSampler(data).data_source is data and SequentialSampler(range(3)).data_source == range(3)
    batches = BatchSampler(SequentialSampler(data), 2, False)
    assert list(batches) == [[0, 1], [2, 3], [4]]
    batches.sampler, batches.drop_last = SequentialSampler(range(3)), True
    assert list(batches) == [[0, 1]] and batches.batch_size == 2
    plain.generator = torch.Generator().manual_seed(1)
    assert list(plain) == list(RandomSampler(data, generator=torch.Generator().manual_seed(1))) and plain._num_samples is None


def test_signatures_of_bound_methods():
    optimizer, layer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0), nn.Linear(2, 2)
    assert "set_to_none" in inspect.signature(optimizer.zero_grad).parameters
    assert list(inspect.signature(layer.forward).parameters) == ["input"]
    assert list(inspect.signature(layer.requires_grad_).parameters)[0] != "self" and "self" in inspect.signature(nn.Module.requires_grad_).parameters
    assert list(inspect.signature(torch.get_rng_state).parameters) == []
    with pytest.raises(TypeError):
        inspect.signature(layer.forward).bind(1, 2)


def test_calls_that_do_not_fit_say_so_in_a_line():
    x = torch.ones(2)
    for call, text in [
        (lambda: x.stride("a", 2), "stride: the arguments do not fit: given (str, int), taken (dim: int | None = None)"),
        (lambda: torch.set_memory_limit("much"), "set_memory_limit: the arguments do not fit: given (str), taken (bytes: int, device: object = 'cpu')"),
        (lambda: torch.Generator().manual_seed("x"), "manual_seed: the arguments do not fit: given (str), taken (seed: int)"),
        (lambda: nn.Linear(2).weight, "Linear: the arguments do not fit: given (int), taken (in_features: int, out_features: int, bias: bool = True, "),
        (lambda: RandomSampler(), "RandomSampler: the arguments do not fit: given (), taken (data_source: object, "),
    ]:
        with pytest.raises(TypeError) as raised:
            call()
        assert str(raised.value).startswith(text) and "\n" not in str(raised.value)
    with pytest.raises(TypeError, match=r"Linear: __init__ has not run: call super\(\).__init__\(\) first$"):
        nn.Module.nbytes(nn.Linear.__new__(nn.Linear))


def test_weak_references_to_parameters():
    layer = nn.Linear(2, 2)
    refs = [weakref.ref(p) for p in layer.parameters()]
    with torch.no_grad():
        for ref in refs:
            ref().sub_(ref() * 0.5)
    weight = layer.weight
    assert refs[0]() is weight and refs[0]().shape == (2, 2)
    x = torch.ones(2)
    x.note = "kept"
    held, ref = [x], weakref.ref(x)
    holder = nn.Module()
    holder.register_buffer("x", x)
    del x
    held.clear()
    assert ref().note == "kept" and ref().sum() == 2 and holder.x.note == "kept"
    weak = refs[0]
    del layer, weight, refs, holder
    assert weak() is None and ref() is None


def test_weak_references_hand_out_what_goes_on_living():
    layer = nn.Linear(2, 2)
    ref = weakref.ref(layer.weight)
    weight = ref()
    values = weight.tolist()
    del layer
    assert ref() is weight and weight.tolist() == values and weight.requires_grad
    weight.sum().backward()
    assert weight.grad.sum() == 4
    del weight
    assert ref() is None


def test_places_of_functions():
    from dyadic.nn.utils.spectral_norm import SpectralNorm
    from dyadic.nn.utils.weight_norm import WeightNorm, weight_norm

    assert torch.nn.utils.weight_norm is weight_norm and callable(torch.nn.utils.spectral_norm) and isinstance(SpectralNorm, type)
    layer = weight_norm(nn.Linear(2, 2))
    assert any(isinstance(hook, WeightNorm) for hook in layer._forward_pre_hooks.values()) or layer.weight_g.shape == (2, 1)
    assert nn.Conv2d.__module__ == "dyadic.nn.modules.conv" and nn.modules.conv.Conv2d is nn.Conv2d
    assert torch.optim.AdamW.__module__ == "dyadic.optim.adamw"


def test_statements_that_must_hold():
    torch._assert(True, "no"), torch._check(True), torch._check_is_size(3)
    with pytest.raises(AssertionError, match="why"):
        torch._assert(False, "why")
    for check, error in [(torch._check, RuntimeError), (torch._check_value, ValueError), (torch._check_index, IndexError), (torch._check_type, TypeError)]:
        with pytest.raises(error, match="because"):
            check(False, lambda: "because")
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        torch._check_is_size(-1)
    assert torch.sym_max(2, 3.0) == 3.0 and torch.sym_min(2, 3) == 2 and torch.sym_not(False) and torch.sym_int(2.7) == 2


def test_trees_of_one_s_own():
    from dyadic.utils import _pytree as tree

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    tree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda v, _: Pair(*v))
    try:
        made = tree.tree_map(lambda x: x + 1, {"p": Pair(1, [2, 3]), "q": (4,)})
        assert (made["p"].a, made["p"].b, made["q"]) == (2, [3, 4], (5,))
        with pytest.raises(ValueError, match="Pair is registered already"):
            tree.register_pytree_node(Pair, None, None)
    finally:
        tree._deregister_pytree_node(Pair)
    leaves, spec = tree.tree_flatten({"b": [1, 2], "a": torch.max(torch.ones(2, 2), 0)})
    assert spec.num_leaves == 4 and spec.num_nodes == 7 and type(tree.tree_unflatten(leaves, spec)["a"]).__name__ == "max"
    assert [tree.keystr(path) for path, _ in tree.tree_leaves_with_path({"a": [1, (2,)]})] == ["['a'][0]", "['a'][1][0]"]
    assert tree.tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, {"b": 10, "a": 20}) == {"a": 21, "b": 12}
    assert tree.tree_map_only(int, str, [1, 2.0]) == ["1", 2.0] and tree.tree_any(lambda x: x > 1, [1, 2]) and not tree.tree_all(bool, [0, 1])
    assert tree._broadcast_to_and_flatten((1, 2), tree.tree_structure(([0, 0], 0))) == [1, 1, 2]
    with pytest.raises(ValueError, match="3 leaves are given, the spec has 4"):
        tree.tree_unflatten([1, 2, 3], spec)
    with pytest.raises(ValueError, match="the trees differ"):
        tree.tree_map(lambda x, y: x, [1, 2], [1])


def test_products_of_groups():
    a, b = torch.randn(6, 3, dtype=torch.float64, requires_grad=True), torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    offs = torch.tensor([2, 5], dtype=torch.int32)
    out = nn.functional.grouped_mm(a, b, offs=offs)
    assert out.shape == (6, 4) and torch.allclose(out[:2], a[:2] @ b[0]) and torch.allclose(out[2:5], a[2:5] @ b[1]) and not out[5:].any()
    assert torch.autograd.gradcheck(lambda a, b: torch._grouped_mm(a, b, offs=offs), [a, b])
    stacked = nn.functional.grouped_mm(b, b.mT)
    assert torch.allclose(stacked, b @ b.mT)
    inner = nn.functional.grouped_mm(a.T, a, offs=torch.tensor([4, 6], dtype=torch.int32))
    assert torch.allclose(inner[1], a[4:].T @ a[4:]) and inner.shape == (2, 3, 3)
    wide = nn.functional.grouped_mm(b.mT, a.T, offs=torch.tensor([1, 6], dtype=torch.int32))
    assert torch.allclose(wide[:, 1:], b[1].T @ a.T[:, 1:])
    with pytest.raises(ValueError, match="offs are the ends of groups"):
        nn.functional.grouped_mm(a, b, offs=torch.tensor([5, 2]))
    with pytest.raises(ValueError, match="offs say where groups end"):
        nn.functional.grouped_mm(a, b)


def test_dicts_are_made_like_a_module_s_entries():
    layer = nn.Linear(2, 3)
    made = type(layer._parameters)({name: p.detach() * 0 for name, p in layer._parameters.items()})
    assert type(made) is dict and list(made) == ["weight", "bias"] and not made["weight"].any()
    assert DataLoader(TensorDataset(torch.ones(4))).multiprocessing_context is None


def test_assignments_of_one_s_own_that_add_modules():
    """As in pyro, whose modules' __setattr__ calls add_module and register_parameter."""

    class Own(nn.Module):
        def __setattr__(self, name, value):
            if isinstance(value, nn.Module):
                return self.add_module(name, value)
            if isinstance(value, nn.Parameter):
                return self.register_parameter(name, value)
            super().__setattr__(name, value)

    m = Own()
    m.part, m.weight, m.number = nn.Linear(2, 1), nn.Parameter(torch.ones(3)), 4
    assert [n for n, _ in m.named_parameters()] == ["weight", "part.weight", "part.bias"] and m.number == 4
    m.part = nn.Linear(2, 5)
    assert m.part.bias.shape == (5,) and len(list(m.children())) == 1


def test_no_tensor_has_a_tangent():
    from dyadic.autograd import forward_ad

    x = torch.ones(2)
    assert forward_ad.unpack_dual(x).primal is x and torch.autograd.forward_ad.unpack_dual(x).tangent is None
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="func.jvp"):
        forward_ad.make_dual(x, x)
