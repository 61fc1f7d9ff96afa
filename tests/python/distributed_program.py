"""What test_distributed.py runs on several ranks: PyTorch's calls, DistributedDataParallel, and shards of a batch."""
import hashlib
import sys
from pathlib import Path

import dyadic as torch
import dyadic.distributed as dist
from dyadic import nn
from dyadic.distributed.fsdp import FSDPModule, FullyShardedDataParallel, fully_shard
from dyadic.nn import functional as F
from dyadic.nn.parallel import DistributedDataParallel

DIGITS = Path(__file__).parents[2] / "examples" / "data" / "digits.csv"


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


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 32), nn.Linear(32, 3)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU()) for _ in range(3))

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


def fsdp():
    """Parameters are with their ranks, and training goes as with DistributedDataParallel."""
    rank = dist.get_rank()

    def train(wrap):
        torch.manual_seed(3)
        model = wrap(Blocks())
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        data = torch.Generator().manual_seed(rank)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 6, generator=data)).square().mean().backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        return model, norm

    def each(model):
        for block in model.blocks:
            fully_shard(block)
        return fully_shard(model)

    ddp, norm = train(DistributedDataParallel)
    for wrap in (FullyShardedDataParallel, each):
        model, found = train(wrap)
        assert torch.allclose(found, norm, rtol=1e-5)
        there = 0
        for p in model.parameters():
            try:
                there += p.sum() is not None
            except RuntimeError as e:
                assert "a parameter's values are with another rank" in str(e)
        assert 0 < there < len(list(model.parameters()))
        with FullyShardedDataParallel.summon_full_params(model):
            for p, q in zip(model.parameters(), ddp.parameters()):
                assert torch.allclose(p, q, rtol=1e-4, atol=1e-6)
    assert isinstance(model, FSDPModule) and isinstance(model, Blocks)


def sync_batch_norm():
    """Statistics, and gradients through them, are those of all ranks' samples together."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(4)
    alone = nn.Sequential(nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 16, 3))
    model = nn.Sequential(nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 16, 3))
    model.load_state_dict(alone.state_dict())
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert isinstance(model[1], nn.SyncBatchNorm)
    inputs = [torch.randn(3 + r, 2, 6, 6, generator=torch.Generator().manual_seed(r)) + r for r in range(size)]
    ddp_model = DistributedDataParallel(model)
    y = ddp_model(inputs[rank])
    whole = alone(torch.cat(inputs))
    begin = sum(x.shape[0] for x in inputs[:rank])
    assert torch.allclose(y, whole[begin : begin + 3 + rank], rtol=1e-4, atol=1e-5)
    (y.square().sum() * size).backward()  # whose mean over ranks is the sum
    whole.square().sum().backward()
    for p, q in zip(model.parameters(), alone.parameters()):
        assert torch.allclose(p.grad, q.grad, rtol=1e-3, atol=1e-3), (p.grad - q.grad).abs().max()
    for name, b in alone.named_buffers():
        assert torch.allclose(dict(model.named_buffers())[name].float(), b.float(), rtol=1e-4, atol=1e-6), name
    model.eval(), alone.eval()
    assert torch.allclose(model(inputs[0]), alone(inputs[0]), rtol=1e-4, atol=1e-5)


def shards(make=net, spread="none"):
    """A digest of all weights after ten steps over shards."""
    torch.manual_seed(1)
    model = make()
    parallel = dist.DataParallel(model, shards=4, spread=spread)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = torch.Generator().manual_seed(2)
    digest = hashlib.sha256()
    for _ in range(10):
        x, y = torch.randn(14, 6, generator=data), torch.randint(0, 3, (14,), generator=data)
        optimizer.zero_grad()
        loss = parallel.backward((x, {"y": y}), lambda s: F.cross_entropy(model(s[0]), s[1]["y"]))
        digest.update(repr((loss, parallel.grad_norm(model.parameters()))).encode())
        optimizer.step()
        parallel.share()
    with parallel.gathered():
        for name, t in model.state_dict().items():
            digest.update(t.numpy().tobytes())
    return digest.hexdigest()


def digits(spread="none", state=None):
    """A digest of a CNN with SyncBatchNorm after fifty steps over shards on handwritten digits."""
    data = torch.tensor([[float(v) for v in line.split(",")] for line in DIGITS.read_text().splitlines()[:512]])
    images, labels = data[:, :64].view(-1, 1, 8, 8) / 16, data[:, 64].long()
    torch.manual_seed(5)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    parallel = dist.DataParallel(model, shards=4, spread=spread)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, **({"state": state} if state else {}))
    losses = []
    for step in range(50):
        at = step * 32 % 512
        optimizer.zero_grad()
        losses.append(parallel.backward((images[at : at + 32], labels[at : at + 32]), lambda s: F.cross_entropy(model(s[0]), s[1])))
        optimizer.step()
        parallel.share()
    assert losses[-1] < 0.5 * losses[0], losses
    digest = hashlib.sha256(repr(losses).encode())
    with parallel.gathered():
        for name, t in model.state_dict().items():
            digest.update(t.numpy().tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    dist.init_process_group("mpi")
    if dist.get_world_size() > 1:
        calls()
        ddp()
        fsdp()
        sync_batch_norm()
    result = shards()
    spread = {shards(Blocks, spread) for spread in ("none", "states", "gradients", "parameters")}
    assert len(spread) == 1
    result += spread.pop()
    for state in (None, "dynamic8"):
        found = {digits(spread, state) for spread in ("none", "states", "gradients", "parameters")}
        assert len(found) == 1
        result += found.pop()
    if dist.get_rank() == 0:
        print(dist.get_world_size(), result)
    dist.destroy_process_group()
    sys.exit(0)
