"""Memory that processes share: by fork after share_memory_(), and by sending."""
import multiprocessing
import os

import pytest

import dyadic as torch
import dyadic.multiprocessing as mp
from dyadic import nn


def in_child(work):
    """Runs it in a forked process, and says how that ended."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def test_forked_processes_write_into_the_same_memory():
    x, own = torch.zeros(1000), torch.zeros(3)
    view = x[10:20]
    assert not x.is_shared() and x.share_memory_() is x and x.is_shared() and view.is_shared() and x.untyped_storage().is_shared()

    def work():
        view.fill_(3)
        own.fill_(3)

    in_child(work)
    assert x.sum() == 30 and own.sum() == 0 and not own.is_shared()
    small = torch.arange(3).share_memory_()
    in_child(lambda: small.add_(1))
    assert small.tolist() == [1, 2, 3] and small.share_memory_().is_shared()


def test_modules_share_parameters_and_buffers():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).share_memory()
    before = model[0].weight.detach().clone()

    def work():
        model.train()
        with torch.no_grad():
            model[0].weight += 1
        model(torch.randn(4, 3))

    in_child(work)
    assert torch.allclose(model[0].weight, before + 1) and model[1].num_batches_tracked == 1
    model(torch.randn(4, 3)).sum().backward()  # goes on being a module
    assert model[0].weight.grad is not None and all(p.is_shared() for p in model.parameters())


def _double(queue, back):
    t, p = queue.get()
    t.mul_(2)
    with torch.no_grad():
        p.add_(1)
    back.put((type(p).__name__, p.requires_grad, list(t.stride())))


def test_what_is_sent_is_shared():
    for method in ("fork", "spawn"):
        context = mp.get_context(method)
        queue, back = context.Queue(), context.Queue()
        process = context.Process(target=_double, args=(queue, back))
        process.start()
        t, p = torch.arange(6.0).reshape(2, 3).T, nn.Parameter(torch.ones(2))
        queue.put((t, p))
        assert back.get() == ("Parameter", True, [1, 3])
        process.join()
        assert t.T.tolist() == [[0, 2, 4], [6, 8, 10]] and p.tolist() == [2, 2] and t.is_shared()


def test_python_s_own_multiprocessing_sends_the_same_way():
    pipe, other = multiprocessing.Pipe()
    t = torch.ones(3)
    pipe.send(t)
    got = other.recv()
    got += 1
    assert t.tolist() == [2, 2, 2]
    pipe.send((torch.ones(0, 2), torch.ones(2, dtype=torch.bool)))
    empty, truth = other.recv()
    assert empty.shape == (0, 2) and truth.all()


def test_packed_and_lent_memory_is_shared_too():
    packed = torch.arange(4).to("i4").share_memory_()
    in_child(lambda: packed.copy_(torch.ones(4).to("i4")))
    assert packed.to(torch.int64).tolist() == [1, 1, 1, 1]
    big = torch.zeros(1000)
    lent = big.numpy()
    big.share_memory_()
    big.fill_(2)
    assert lent.sum() == 0 and big.sum() == 2000  # NumPy keeps the memory that it was lent


def test_what_cannot_be_shared_says_so():
    with pytest.raises(RuntimeError, match="a meta tensor has no memory: self is f32\\[4\\]"):
        torch.zeros(4, device="meta").share_memory_()
    with pytest.raises(RuntimeError, match="resize_: memory that processes share keeps its size: self is f32\\[4\\]"):
        torch.zeros(4).share_memory_().resize_(8)
    pipe, _ = multiprocessing.Pipe()
    with pytest.raises(RuntimeError, match="a tensor that backward goes through is not sent"):
        pipe.send(torch.ones(2, requires_grad=True) * 2)


def test_storages_of_files(tmp_path):
    path = tmp_path / "numbers"
    storage = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=16)
    t = torch.empty(0).set_(storage, 0, [4])
    t.copy_(torch.arange(4.0))
    again = torch.empty(0).set_(torch.UntypedStorage.from_file(str(path), shared=False, nbytes=16), 0, [4])
    assert again.tolist() == [0, 1, 2, 3] and path.stat().st_size == 16 and t.is_shared() and not again.is_shared()
    again.fill_(9)
    assert t.tolist() == [0, 1, 2, 3]
    pipe, other = multiprocessing.Pipe()
    pipe.send(t[1:])
    other.recv().fill_(7)
    assert torch.from_file(str(path), size=4).tolist() == [0, 7, 7, 7]
    with pytest.raises(ValueError, match="too short"):
        torch.UntypedStorage.from_file(str(path), shared=False, nbytes=17)
