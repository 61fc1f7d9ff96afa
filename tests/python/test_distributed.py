"""Several processes by PyTorch's names."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dyadic as torch
import dyadic.distributed as dist

PROGRAM = Path(__file__).with_name("distributed_program.py")


def test_alone_there_is_no_group_and_calls_say_so():
    assert not dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    for call in (dist.get_rank, dist.barrier, lambda: dist.all_reduce(torch.ones(1)), lambda: dist.new_group([0])):
        with pytest.raises(ValueError, match="there is no process group; call init_process_group"):
            call()
    with pytest.raises(ValueError, match="call distributed.init_process_group"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="backend is 'nccl'"):
        dist.init_process_group("nccl")
    with pytest.raises(ValueError, match="world_size is 4, but 1 processes were started together"):
        dist.init_process_group("mpi", world_size=4, rank=0)


def test_a_world_of_one():
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        t = torch.ones(3)
        dist.all_reduce(t)
        things = [None]
        dist.all_gather_object(things, "mine")
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
        model(t).sum().backward()
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "mpi")
        assert t.tolist() == [1, 1, 1] and things == ["mine"] and model.module.weight.grad.tolist() == [[1, 1, 1]]
        with pytest.raises(ValueError, match="it has been called"):
            dist.init_process_group()
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def launched(ranks, *program):
    command = [shutil.which("mpirun"), "-n", str(ranks), "--bind-to", "none", "--oversubscribe"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([*command, *program], env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_on_several_ranks():
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun; ./dev test installs it")
    if (tried := launched(2, "true")).returncode:
        pytest.skip(f"mpirun does not run here: {tried.stderr}")
    alone = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=120)
    assert alone.returncode == 0, alone.stderr
    digest = alone.stdout.split()[1]
    for ranks in (2, 3, 4):
        found = launched(ranks, sys.executable, str(PROGRAM))
        assert found.returncode == 0, found.stderr
        assert found.stdout.split() == [str(ranks), digest]
