"""What test_distributed.py runs on several ranks: PyTorch's calls, DistributedDataParallel, and shards of a batch."""
import hashlib
import sys

import dyadic as torch
import dyadic.distributed as dist
from dyadic import nn
from dyadic.nn import functional as F
from dyadic.nn.parallel import DistributedDataParallel


def calls():
    rank, size = dist.get_rank(), dist.get_world_size()
    t = torch.full((3,), float(rank + 1))
    dist.all_reduce(t)
    assert t.tolist() == [size * (size + 1) / 2] * 3
    t = torch.tensor([rank + 1.0]).bfloat16()
    work = dist.all_reduce(t, op=dist.ReduceOp.MAX, async_op=True)
    assert work.wait() and t.item() == size
    t = torch.full((2,), float(rank))
    dist.broadcast(t, src=size - 1)
    assert t.tolist() == [size - 1.0] * 2
    parts = [torch.zeros(2) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([rank, rank * 2.0]))
    assert [p.tolist() for p in parts] == [[r, r * 2.0] for r in range(size)]
    every = torch.zeros(size * 2)
    dist.all_gather_into_tensor(every, torch.tensor([rank, 1.0]))
    assert every.view(size, 2)[:, 0].tolist() == list(range(size))
    mine = torch.zeros(1)
    dist.reduce_scatter_tensor(mine, torch.arange(size).float())
    assert mine.item() == rank * size
    got = torch.zeros(size)
    dist.all_to_all_single(got, torch.arange(size) + 10.0 * rank)
    assert got.tolist() == [10.0 * r + rank for r in range(size)]
    t = torch.tensor([float(rank)])
    dist.reduce(t, dst=0)
    assert t.item() == (size * (size - 1) / 2 if rank == 0 else rank)
    one = torch.zeros(1)
    dist.scatter(one, [torch.tensor([r + 5.0]) for r in range(size)] if rank == 0 else None, src=0)
    assert one.item() == rank + 5
    if rank == 0:
        dist.send(torch.tensor([7.0]), dst=1)
    if rank == 1:
        assert dist.recv(one, src=0) == 0 and one.item() == 7
    things = [None] * size
    dist.all_gather_object(things, {"rank": rank})
    assert things == [{"rank": r} for r in range(size)]
    lists = ["from zero", 1] if rank == 0 else [None, None]
    dist.broadcast_object_list(lists, src=0)
    assert lists == ["from zero", 1]
    dist.barrier()


def net():
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))


def ddp():
    """Gradients are the mean over ranks, no_sync() keeps them apart, and the weights stay equal."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)  # the weights become rank 0's
    model = DistributedDataParallel(nn.Linear(4, 2))
    inputs = [torch.randn(5, 4, generator=torch.Generator().manual_seed(r)) for r in range(size)]
    model(inputs[rank]).square().mean().backward()
    alone = nn.Linear(4, 2)
    alone.load_state_dict(model.module.state_dict())
    sum(alone(x).square().mean() / size for x in inputs).backward()
    assert torch.allclose(model.module.weight.grad, alone.weight.grad, rtol=1e-5, atol=1e-7)
    model.zero_grad()
    with model.no_sync():
        model(inputs[rank]).sum().backward()
    assert torch.allclose(model.module.weight.grad, inputs[rank].sum(0).expand(2, 4), atol=1e-6)
    model(inputs[rank]).sum().backward()  # adds, then takes the mean
    assert torch.allclose(model.module.weight.grad, sum(2 * x.sum(0) for x in inputs).expand(2, 4) / size, atol=1e-5)


def shards():
    """A digest of all weights after ten steps over shards."""
    torch.manual_seed(1)
    model = net()
    parallel = dist.DataParallel(model, shards=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = torch.Generator().manual_seed(2)
    for _ in range(10):
        x, y = torch.randn(14, 6, generator=data), torch.randint(0, 3, (14,), generator=data)
        optimizer.zero_grad()
        loss = parallel.backward((x, {"y": y}), lambda s: F.cross_entropy(model(s[0]), s[1]["y"]))
        optimizer.step()
    digest = hashlib.sha256(repr(loss).encode())
    for name, t in model.state_dict().items():
        digest.update(t.numpy().tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    dist.init_process_group("mpi")
    if dist.get_world_size() > 1:
        calls()
        ddp()
    result = shards()
    if dist.get_rank() == 0:
        print(dist.get_world_size(), result)
    dist.destroy_process_group()
    sys.exit(0)
