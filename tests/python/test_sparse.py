"""Sparse tensors from Python: that they are Tensors, gradients, what is refused. Values are C++'s tests."""
import copy
import pickle

import pytest

import dyadic as torch

PLACES = [[0, 1, 1, 0], [2, 0, 2, 2]]


def example(**options):
    return torch.sparse_coo_tensor(PLACES, [1.0, 2.0, 3.0, 4.0], (2, 3), **options)


def test_is_a_tensor():
    s = example()
    assert isinstance(s, torch.Tensor) and s.shape == (2, 3) and s.dtype == torch.float32 and s.device.type == "cpu"
    assert s.layout is torch.sparse_coo and s.is_sparse and not s.is_sparse_csr and s._nnz() == 4 and not s.is_coalesced()
    assert s.to_sparse_csr().layout is torch.sparse_csr and torch.ones(2).layout is torch.strided
    assert torch.sparse_coo_tensor(size=(2, 3)).to_dense().tolist() == torch.zeros(2, 3).tolist()
    assert torch.sparse_coo_tensor((2, 3), dtype=torch.float64).dtype == torch.float64
    with pytest.raises(RuntimeError, match="not coalesced"):
        s.values()


def test_gradients():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [5.0, 2.0, 3.0], requires_grad=True, is_coalesced=True)
    d = torch.arange(6.0).view(3, 2).requires_grad_()
    (s @ d).square().sum().backward()
    assert s.grad.values().tolist() == [410.0, 34.0, 266.0]  # as PyTorch has them, to the bit
    assert d.grad.tolist() == [[48.0, 68.0], [0.0, 0.0], [272.0, 352.0]]
    adjacency = torch.eye(3).to_sparse()
    layer = torch.nn.Linear(2, 2)
    torch.spmm(adjacency, layer(d)).sum().backward()
    assert layer.weight.grad.tolist() == [[6.0, 9.0]] * 2


def test_calls():
    s = example()
    dense = s.to_dense()
    cases = [
        (s.t(), dense.t()),
        (2 * s, 2 * dense),
        (s / 2, dense / 2),
        (-s, -dense),
        (s + s, 2 * dense),
        (s - s, 0 * dense),
        (dense + s, 2 * dense),
        (s * dense, dense * dense),
        (torch.sqrt(s), dense.sqrt()),
        (s**2, dense**2),
        (s.double(), dense.double()),
        (dense.t() @ s, dense.t() @ dense),
        (torch.sparse.mm(s, s.t()), dense @ dense.t()),
        (torch.addmm(torch.ones(2, 2), s, dense.t(), beta=2, alpha=3), 2 + 3 * dense @ dense.t()),
        (torch.sparse.sum(s, 1), dense.sum(1)),
        (s.sum(), dense.sum()),
        (dense.to_sparse(layout=torch.sparse_csr), dense),
        (torch.ones(2, 3).sparse_mask(s.coalesce()), (dense != 0).float()),
        (torch.sparse.spdiags(torch.tensor([[1.0, 2, 3], [4, 5, 6]]), torch.tensor([0, 1]), (3, 3)), torch.tensor([[1.0, 5, 0], [0, 2, 6], [0, 0, 3]])),
    ]
    for got, wanted in cases:
        assert torch.equal(got.to_dense(), wanted) and got.dtype == wanted.dtype


def test_copied_and_pickled():
    for s in (example(), example().to_sparse_csr()):
        for other in (copy.deepcopy(s), copy.copy(s), pickle.loads(pickle.dumps(s))):
            assert str(other) == str(s) and other.layout is s.layout


def test_refused_by_name():
    s = example()
    for call, text in (
        (lambda: s[0], "__getitem__: it is not here for sparse tensors; to_dense"),
        (lambda: torch.softmax(s, 1), "softmax: it is not here for sparse"),
        (lambda: torch.exp(s), "exp: it is not here for sparse"),
        (lambda: list(s), "__iter__: it is not here for sparse"),
        (lambda: s * s, "mul: of sparse and sparse it is not here"),
        (lambda: s**0, "pow: of sparse tensors the exponent is"),
        (lambda: torch.sparse_bsr_tensor(1), "sparse_bsr_tensor: it is not here"),
    ):
        with pytest.raises(NotImplementedError, match=text.replace("*", r"\*")):
            call()
    with pytest.raises(TypeError, match="keep it as a plain attribute"):
        torch.nn.Module().register_buffer("adjacency", s)
    with pytest.raises(TypeError, match="sparse.mm: it takes a sparse tensor"):
        torch.sparse.mm(torch.ones(2, 2), torch.ones(2, 2))


def test_parameters_are_dense():
    for sparse, name in ((example(), "sparse"), (example().to_sparse_csr(), "sparse_csr"), (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "nested")):
        with pytest.raises(TypeError, match=f"data is a {name} tensor, and parameters are dense"):
            torch.nn.Parameter(sparse)


def test_graph_convolution_learns():
    """A small graph network of the kind that programs write: two groups of nodes told apart by their edges."""
    torch.manual_seed(0)
    edges = [(a, b) for group in (range(0, 5), range(5, 10)) for a in group for b in group]
    adjacency = torch.sparse_coo_tensor(list(zip(*edges)), torch.full((len(edges),), 0.2), (10, 10)).coalesce()
    first, second = torch.nn.Linear(10, 8), torch.nn.Linear(8, 2)
    labels = torch.tensor([0] * 5 + [1] * 5)
    steps = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(30):
        steps.zero_grad()
        hidden = torch.relu(torch.sparse.mm(adjacency, first(torch.eye(10))))
        loss = torch.nn.functional.cross_entropy(torch.sparse.mm(adjacency, second(hidden))[[0, 5]], labels[[0, 5]])
        loss.backward()
        steps.step()
    assert torch.equal(torch.sparse.mm(adjacency, second(hidden)).argmax(1), labels)
