"""The worker threads of a DataLoader: what they know, and how they end."""
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest

import dyadic as dy
from dyadic.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    Subset,
    get_worker_info,
    random_split,
)

from simple_datasets import Squares, Count, EveryOther


def test_workers_know_who_they_are():
    assert get_worker_info() is None
    seen, began = set(), []

    class Asking(Squares):
        def __getitem__(self, i):
            info = get_worker_info()
            seen.add((info.id, info.num_workers, info.dataset is self, info.seed - info.id))
            return threading.get_ident()

    d = Asking(40)
    loader = DataLoader(d, num_workers=2, worker_init_fn=began.append, persistent_workers=True)
    threads = {t.item() for t in loader} | {t.item() for t in loader}
    assert threading.get_ident() not in threads and len(threads) <= 2
    assert sorted(began) == [0, 1]  # persistent workers begin once
    assert {s[:3] for s in seen} <= {(0, 2, True), (1, 2, True)} and len({s[3] for s in seen}) == 2  # a seed per epoch

    def refuse(worker):
        raise ValueError(f"worker {worker}")

    for d in (Squares(4), Count(4)):
        with pytest.raises(ValueError, match="worker 0"):
            list(DataLoader(d, num_workers=2, worker_init_fn=refuse))


def test_every_worker_begins_even_without_work():
    began = []

    def begin(worker):
        info = get_worker_info()
        began.append((worker, info.id, info.num_workers, info.dataset, info.worker_method))

    d, stream = Squares(1), Count(5)
    assert len(list(DataLoader(d, num_workers=4, worker_init_fn=begin))) == 1
    assert sorted(began, key=lambda b: b[0]) == [(i, i, 4, d, "thread") for i in range(4)]
    began.clear()
    assert len(list(DataLoader(Subset(d, []), num_workers=2, worker_init_fn=began.append))) == 0 and sorted(began) == [0, 1]
    began.clear()
    assert [int(v) for v in DataLoader(stream, batch_size=None, num_workers=3, worker_init_fn=begin)] == [0, 1, 2, 3, 4]
    assert began == [(0, 0, 1, stream, "thread")]  # a stream is read as if by one worker


def test_pytorchs_places():
    from dyadic.utils import data
    from dyadic.utils.data.dataset import Dataset as same
    from dyadic.utils.data.sampler import BatchSampler

    assert data.distributed.DistributedSampler is data.DistributedSampler and same is Dataset and data.dataloader.DataLoader is DataLoader
    assert BatchSampler is data.sampler.BatchSampler


def test_workers_run_beside_the_caller():
    """Two samples wait for each other: with two workers they meet."""
    meeting = threading.Barrier(2, timeout=20)

    class Meeting(Squares):
        def __getitem__(self, i):
            meeting.wait()
            return i

    assert [b.tolist() for b in DataLoader(Meeting(4), num_workers=2)] == [[0], [1], [2], [3]]


def test_ctrl_c_while_waiting():
    release = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

    class Pressed(Squares):
        def __getitem__(self, i):
            os.kill(os.getpid(), signal.SIGINT)
            release.wait(20)
            return i

    it = iter(DataLoader(Pressed(1), num_workers=1))
    try:
        with pytest.raises(KeyboardInterrupt):
            next(it)
    finally:
        signal.signal(signal.SIGINT, before)
        release.set()


def test_timeout():
    release = threading.Event()

    class Slow(Squares):
        def __getitem__(self, i):
            release.wait(20)
            return i

    it = iter(DataLoader(Slow(2), num_workers=1, timeout=0.1))
    with pytest.raises(RuntimeError, match="no batch came within the timeout of 0.1 s"):
        next(it)
    release.set()


@pytest.mark.parametrize("persistent", [False, True])
def test_an_iterator_dropped_half_way_stops_its_workers(persistent):
    before = threading.active_count()
    made = []

    class Watched(Squares):
        def __getitem__(self, i):
            made.append(i)
            return dy.zeros(4)

    d = Watched(1000)
    alive = weakref.ref(d)
    loader = DataLoader(d, batch_size=2, num_workers=3, persistent_workers=persistent)
    for _ in range(20):
        it = iter(loader)
        next(it)
        del it
    with pytest.raises(RuntimeError):
        for _ in loader:
            raise RuntimeError
    gc.collect()
    assert len(made) < 1000  # 21 beginnings of 8 batches at most
    assert persistent or len(list(loader)) == 500
    del loader, d
    gc.collect()
    assert alive() is None and threading.active_count() == before


def test_the_interpreter_ends_with_workers_at_work():
    code = """
import dyadic as dy, time
from dyadic.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self): return 100
    def __getitem__(self, i): time.sleep(0.01); return dy.zeros(3)
loader = DataLoader(Slow(), num_workers=2, persistent_workers=True)
it = iter(loader); next(it)
raise SystemExit(7)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 7 and done.stderr == b""


def test_a_fork_with_workers_at_work():
    code = """
import dyadic as dy, os, sys
from dyadic.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(dy.arange(100)), num_workers=2, persistent_workers=True)
it = iter(loader); next(it)
if pid := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) + len(list(it)))
try:
    for _ in it: pass
except RuntimeError as e:
    del it
    sys.exit(1 if "or it has forked" in str(e) and len(list(loader)) == 100 else 2)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 100, done.stderr  # 99 batches in the parent, and the child's 1


def test_what_refers_to_itself_is_collected():
    class Owner(Squares):
        def setup(self, wrap, **arguments):
            self.loader = DataLoader(wrap(self), num_workers=1, collate_fn=self.collate, **arguments)
            self.it = iter(self.loader)
            next(self.it)
            return weakref.ref(self)

        def collate(self, samples):
            return samples

    wraps = [lambda d: d, lambda d: Subset(d, [0, 1]), lambda d: random_split(d, [2, 1])[0], lambda d: d + d]
    refs = [Owner(3).setup(w, persistent_workers=p) for w in wraps for p in (False, True)]
    d = Owner(3)
    refs.append(d.setup(lambda d: d, sampler=RandomSampler(d)))
    refs.append(Owner(3).setup(lambda d: d, shuffle=True))
    refs.append(d.setup(lambda d: d, batch_sampler=BatchSampler(EveryOther(d), 2, False)))
    kept = d.loader.sampler, d.loader.dataset
    gc.collect()
    assert d.loader.dataset is d and len(list(d.loader)) == 1
    del d, kept
    gc.collect()
    assert [r() for r in refs] == [None] * len(refs)
