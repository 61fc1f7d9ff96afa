"""Methods inside PyTorch's modules that people override or call: _apply, _call_impl, _named_members; attributes past registration."""
import dyadic as dy
from dyadic import nn


def test_apply_changes_parameters_gradients_and_buffers_in_their_places():
    m = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    weight = m[0].weight
    m(dy.ones(3, 2)).sum().backward()
    before = weight.detach().clone()
    assert m._apply(lambda t: t.double() * 2 if t.is_floating_point() else t) is m
    assert m[0].weight is weight and isinstance(weight, nn.Parameter)
    assert weight.dtype == weight.grad.dtype == m[1].running_var.dtype == dy.float64
    assert weight.tolist() == (before.double() * 2).tolist()
    assert m[1].num_batches_tracked.dtype == dy.int64


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.cache = nn.Parameter(dy.ones(1)), dy.ones(1)

    def _apply(self, fn):
        super()._apply(fn)
        self.cache = fn(self.cache)
        return self


def test_conversions_call_an_overridden_apply():
    for convert, dtype in (
        (lambda m: m.to(dy.float64), dy.float64),
        (lambda m: m.to("cpu", dy.float16), dy.float16),
        (lambda m: m.to(dtype=dy.bfloat16), dy.bfloat16),
        (lambda m: m.double(), dy.float64),
        (lambda m: m.half(), dy.float16),
    ):
        m = convert(nn.Sequential(Cached()))
        assert m[0].cache.dtype == m[0].weight.dtype == dtype


def test_call_impl_runs_forward_with_its_hooks():
    m = nn.ReLU()
    m.register_forward_hook(lambda m, args, out: out + 1)
    assert m._call_impl(dy.tensor([-1.0, 2.0])).tolist() == [1, 3]


def test_named_members():
    m = nn.Module()
    m.a, m.b = nn.Linear(1, 1), nn.ReLU()
    m.c = m.a
    of = lambda m: m._parameters.items()  # noqa: E731
    assert [name for name, _ in m._named_members(of)] == ["a.weight", "a.bias"]
    assert [name for name, _ in m._named_members(of, prefix="x", remove_duplicate=False)] == ["x.a.weight", "x.a.bias", "x.c.weight", "x.c.bias"]
    assert list(m._named_members(of, recurse=False)) == []


def test_a_module_is_hidden_from_registration():
    m = nn.Linear(2, 2)
    hidden = nn.Linear(2, 2)
    object.__setattr__(m, "teacher", hidden)
    object.__setattr__(m, "z", 3)
    assert m.teacher is hidden and m.z == 3
    assert len(list(m.parameters())) == 2 and list(m.children()) == []
    object.__delattr__(m, "z")
    assert not hasattr(m, "z")


class Watched(nn.Module):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self.__dict__.setdefault("names", []).append(name)

    def __delattr__(self, name):
        super().__delattr__(name)
        self.names.append("-" + name)


def test_attributes_of_a_derived_class_go_through_its_own_methods():
    m = Watched()
    m.child = nn.ReLU()
    m.value = 2
    del m.child
    assert m.names == ["child", "value", "-child"] and list(m.children()) == [] and m.value == 2
