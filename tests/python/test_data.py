"""dyadic.utils.data: PyTorch's names and order of arguments; the same bits for any number of workers."""
import collections
import itertools

import numpy as np
import pytest

import dyadic as dy
from dyadic.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)

from simple_datasets import Squares, Count, EveryOther


class Noisy(Squares):
    def __getitem__(self, i):
        return dy.randn(3) + i


def rows(n=10):
    return TensorDataset(dy.arange(n * 2).reshape(n, 2), dy.arange(n))


def generator(seed=3):
    return dy.Generator().manual_seed(seed)


def order_of(loader):
    return [batch[-1].tolist() for batch in loader]


def test_tensor_dataset():
    d = rows()
    assert len(d) == 10 and isinstance(d, Dataset)
    x, y = d[-1]
    assert x.tolist() == [18, 19] and y.item() == 9
    assert [t.tolist() for t in d[2:4]] == [[[4, 5], [6, 7]], [2, 3]]
    assert len(list(d)) == 10  # the IndexError ends it
    assert d.tensors[1].shape == (10,)
    with pytest.raises(IndexError, match="no sample 10: it has 10"):
        d[10]
    with pytest.raises(ValueError, match=r"differ in their first size: the first is f32\[2\], here is f32\[3\]"):
        TensorDataset(dy.zeros(2), dy.zeros(3))


def test_stack():
    by_name = StackDataset(x=rows(3), y=Squares(3))
    assert len(by_name) == 3 and by_name[2]["y"][1] == 2
    batch = next(iter(DataLoader(StackDataset(range(3), range(5, 8)), batch_size=3, num_workers=1)))
    assert [b.tolist() for b in batch] == [[0, 1, 2], [5, 6, 7]]
    with pytest.raises(ValueError, match=r"differ in length: \[3, 2\]"):
        StackDataset(range(3), range(2))


def test_subset_concat_and_split():
    d = Squares(5)
    s = Subset(d, [4, 0])
    assert s[0][1] == 4 and len(s) == 2 and s.dataset is d and s.indices == [4, 0]
    both = d + rows(3)
    assert isinstance(both, ConcatDataset) and both.cumulative_sizes == [5, 8] and both[-1][1].item() == 2 and both[4][1] == 4
    assert both.datasets[0] is d
    a, b = random_split(d, [3, 2], generator=generator())
    assert sorted(a.indices + b.indices) == [0, 1, 2, 3, 4] and isinstance(a, Subset)
    again = random_split(d, [3, 2], generator=generator())
    assert again[0].indices == a.indices
    assert [len(p) for p in random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]  # 5, 2, 2 and the rest in turn
    with pytest.raises(ValueError, match="the lengths sum to 4, the dataset has 5 samples"):
        random_split(d, [3, 1])
    with pytest.raises(ValueError, match="the fractions sum to 0.7"):
        random_split(d, [0.5, 0.2])


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_batches_and_lengths(workers):
    loader = DataLoader(rows(), batch_size=4, num_workers=workers)
    batches = list(loader)
    assert len(loader) == 3 and [b[1].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert isinstance(batches[0], list) and batches[2][0].tolist() == [[16, 17], [18, 19]] and batches[0][0].dtype == dy.int64
    loader = DataLoader(rows(), 4, drop_last=True, num_workers=workers)
    assert len(loader) == 2 and order_of(loader) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    x, y = next(iter(DataLoader(Squares(3), num_workers=workers)))
    assert x.tolist() == [[0, 0]] and y.dtype == dy.int64
    assert [s[1] for s in DataLoader(Squares(3), batch_size=None, num_workers=workers)] == [0, 1, 2]
    assert list(DataLoader(TensorDataset(dy.zeros(0, 2)), num_workers=workers)) == []


def test_the_loader_says_what_it_was_given():
    d, g = Squares(9), generator()
    loader = DataLoader(d, batch_size=2, shuffle=True, num_workers=2, generator=g, pin_memory=True)
    assert loader.dataset is d and len(loader.dataset) == 9 and loader.generator is g and loader.batch_size == 2
    assert isinstance(loader.sampler, RandomSampler) and isinstance(loader.batch_sampler, BatchSampler)
    assert loader.num_workers == 2 and loader.prefetch_factor == 2 and loader.drop_last is False and loader.pin_memory
    assert loader.collate_fn is default_collate
    own = DataLoader(d, sampler=[3, 1])
    assert own.sampler == [3, 1] and order_of(own) == [[3], [1]]
    assert isinstance(DataLoader(rows()).dataset, TensorDataset)
    loader.epoch = 3  # attributes of one's own


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 7])
def test_order_and_bits_do_not_depend_on_workers(workers):
    def epochs(n):
        loader = DataLoader(Noisy(23), batch_size=4, shuffle=True, num_workers=n, generator=generator())
        return [[b.numpy().tobytes() for b in loader] for _ in range(2)]

    expected = epochs(0)
    assert expected[0] != expected[1]
    assert epochs(workers) == expected
    dy.manual_seed(5)
    unowned = [b.tolist() for b in DataLoader(Noisy(9), 2, shuffle=True, num_workers=workers)]
    after = dy.get_rng_state().tolist()
    dy.manual_seed(5)
    assert unowned == [b.tolist() for b in DataLoader(Noisy(9), 2, shuffle=True)]
    assert dy.get_rng_state().tolist() == after  # what samples draw is not drawn from it


def test_samplers():
    assert list(SequentialSampler(range(3))) == [0, 1, 2]
    s = RandomSampler(range(100), generator=generator())
    first, second = list(s), list(s)
    assert sorted(first) == list(range(100)) and first != second and len(s) == 100
    assert list(RandomSampler(range(100), generator=generator())) == first
    many = list(RandomSampler(range(4), num_samples=10, generator=generator()))
    assert len(many) == 10 and sorted(many[:4]) == sorted(many[4:8]) == [0, 1, 2, 3]
    drawn = list(RandomSampler(range(4), replacement=True, num_samples=1000, generator=generator()))
    assert min(collections.Counter(drawn).values()) > 200
    assert sorted(SubsetRandomSampler([5, 7, 9], generator())) == [5, 7, 9]
    assert list(BatchSampler(SequentialSampler(range(5)), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler([9, 8, 7], batch_size=2, drop_last=True)) == [[9, 8]]
    assert len(BatchSampler(range(5), 2, True)) == 2
    with pytest.raises(ValueError, match="num_samples is not positive: 0"):
        RandomSampler(range(3), num_samples=0)


def test_weighted_sampler():
    n = 20000
    counts = collections.Counter(WeightedRandomSampler([1, 0, 3], n, generator=generator()))
    assert counts[1] == 0 and abs(counts[2] / n - 0.75) < 4 * (0.75 * 0.25 / n) ** 0.5
    assert sorted(WeightedRandomSampler(dy.tensor([1.0, 0.0, 3.0]), 2, replacement=False)) == [0, 2]
    # The first index without replacement has the same distribution.
    g = generator()
    firsts = [next(iter(WeightedRandomSampler([1, 3], 1, replacement=False, generator=g))) for _ in range(4000)]
    assert abs(sum(firsts) / 4000 - 0.75) < 4 * (0.75 * 0.25 / 4000) ** 0.5
    with pytest.raises(ValueError, match="at most as many samples as positive weights: num_samples is 3, there are 2"):
        WeightedRandomSampler([1, 0, 3], 3, replacement=False)


def test_distributed_sampler():
    shares = [list(DistributedSampler(range(10), num_replicas=3, rank=r)) for r in range(3)]
    assert [len(s) for s in shares] == [4, 4, 4] and set(itertools.chain(*shares)) == set(range(10))
    assert list(DistributedSampler(range(10), 3, 1, shuffle=False, drop_last=True)) == [1, 4, 7]
    s = DistributedSampler(range(10), 3, 0)
    first = list(s)
    s.set_epoch(1)
    assert list(s) != first and len(s) == 4
    loader = DataLoader(Squares(10), batch_size=2, sampler=s)
    assert len(loader) == 2
    with pytest.raises(ValueError, match=r"the rank is not in \[0, 3\): 3"):
        DistributedSampler(range(10), 3, 3)


@pytest.mark.parametrize("workers", [0, 2])
def test_samplers_of_ones_own(workers):
    d = Squares(7)
    loader = DataLoader(d, batch_size=3, sampler=EveryOther(d), num_workers=workers)
    assert len(loader) == 2 and order_of(loader) == [[0, 2, 4], [6]]
    loader = DataLoader(d, batch_sampler=[[0, 6], [5]], num_workers=workers)
    assert len(loader) == 2 and order_of(loader) == [[0, 6], [5]] and loader.batch_size is None


def test_collate():
    Point = collections.namedtuple("Point", "x y")
    batch = default_collate([{"p": Point(1, 2.5), "name": "a", "l": [True, np.float32(2)]}] * 2)
    assert batch["p"].x.tolist() == [1, 1] and batch["p"].y.dtype == dy.float64 and type(batch["p"]) is Point
    assert batch["name"] == ["a", "a"] and batch["l"][0].dtype == dy.bool
    assert default_collate([np.ones((2, 3), np.float32)] * 4).shape == (4, 2, 3)
    assert default_collate([(1, 2), (3, 4)])[0].tolist() == [1, 3]
    ordered = default_collate([collections.OrderedDict(a=1)] * 2)
    assert type(ordered) is collections.OrderedDict and ordered["a"].tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"differ in shape: sample 0 is f32\[2\], sample 1 is f32\[3\]"):
        default_collate([dy.zeros(2), dy.zeros(3)])
    with pytest.raises(TypeError, match="found an object of type NoneType"):
        default_collate([None, None])
    with pytest.raises(ValueError, match="sample 0 has 1 entries, sample 1 has 2"):
        default_collate([[1], [1, 2]])


@pytest.mark.parametrize("workers", [0, 2])
def test_collate_fn_gets_the_samples(workers):
    seen = []

    def collate(samples):
        seen.append(type(samples))
        return {"sum": sum(s[1] for s in samples), "kept": samples}

    batches = list(DataLoader(Squares(4), batch_size=2, collate_fn=collate, num_workers=workers))
    assert [b["sum"] for b in batches] == [1, 5] and seen == [list, list] and isinstance(batches[0]["kept"][0], tuple)
    one = next(iter(DataLoader(rows(), collate_fn=lambda s: s, num_workers=workers)))
    assert isinstance(one[0], tuple) and one[0][1].item() == 0


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_iterable_dataset(workers):
    loader = DataLoader(Count(7), batch_size=3, num_workers=workers)
    assert [b.tolist() for b in loader] == [[0, 1, 2], [3, 4, 5], [6]]  # once, not once per worker
    assert [b.tolist() for b in DataLoader(Count(7), 3, drop_last=True, num_workers=workers)] == [[0, 1, 2], [3, 4, 5]]
    assert list(DataLoader(Count(3), batch_size=None, num_workers=workers)) == [0, 1, 2]
    chained = Count(2) + Count(1)
    assert isinstance(chained, ChainDataset) and [b.tolist() for b in DataLoader(chained, 2, num_workers=workers)] == [[0, 1], [0]]
    with pytest.raises(TypeError, match="len()"):
        len(loader)

    class Endless(IterableDataset):
        def __iter__(self):
            while True:
                yield dy.randn(2)

    def three():
        g = DataLoader(Endless(), batch_size=2, num_workers=workers, generator=generator())
        return [b.tolist() for b in itertools.islice(g, 3)]

    assert three() == three()


class Failing(Squares):
    def __getitem__(self, i):
        if i == 5:
            raise OSError(7, "bad disk")
        return i


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_keep_their_class_and_name_the_sample(workers):
    it = iter(DataLoader(Failing(8), batch_size=2, num_workers=workers))
    assert next(it).tolist() == [0, 1] and next(it).tolist() == [2, 3]
    with pytest.raises(OSError) as e:
        next(it)
    assert e.value.errno == 7 and "DataLoader: sample 5 of the dataset" in e.value.__notes__
    assert next(it).tolist() == [6, 7]  # the rest is there
    with pytest.raises(StopIteration):
        next(it)
    with pytest.raises(IndexError, match=r"there is no sample 99: it has 10 \(sample 99 of the dataset\)"):
        list(DataLoader(rows(), sampler=[1, 99], num_workers=workers))

    class Stops(Squares):
        def __getitem__(self, i):
            raise StopIteration

    with pytest.raises(RuntimeError, match="the dataset raised StopIteration"):
        list(DataLoader(Stops(3), num_workers=workers))

    class Breaks(IterableDataset):
        def __iter__(self):
            yield 1
            raise ZeroDivisionError

    it = iter(DataLoader(Breaks(), num_workers=workers))
    assert next(it).tolist() == [1]
    with pytest.raises(ZeroDivisionError):
        next(it)
    with pytest.raises(StopIteration):
        next(it)

    def bad_collate(samples):
        raise KeyError("collate")

    with pytest.raises(KeyError, match="collate"):
        next(iter(DataLoader(Squares(3), collate_fn=bad_collate, num_workers=workers)))


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"num_workers": -1}, "num_workers is negative: -1"),
        ({"prefetch_factor": 2}, "prefetch_factor is given, but there are no workers"),
        ({"persistent_workers": True}, "persistent_workers are asked for, but num_workers is 0"),
        ({"shuffle": True, "sampler": [0]}, "sampler and shuffle exclude each other"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler excludes batch_size, shuffle, sampler and drop_last"),
        ({"batch_size": None, "drop_last": True}, "drop_last needs a batch_size"),
        ({"batch_size": 0}, "batch_size is not positive: 0"),
        ({"timeout": -1}, "the timeout is negative: -1"),
        ({"dataset": Count(3), "shuffle": True}, "an IterableDataset comes in its own order"),
    ],
)
def test_arguments_that_do_not_go_together(arguments, text):
    with pytest.raises(ValueError, match=text):
        DataLoader(arguments.pop("dataset", Squares(3)), **arguments)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("owned", [True, False])
def test_resuming_in_the_middle_of_an_epoch(workers, owned):
    def make():
        return DataLoader(Noisy(20), batch_size=3, shuffle=True, num_workers=workers, generator=generator() if owned else None)

    dy.manual_seed(11)
    loader = make()
    list(loader)
    it = iter(loader)
    for _ in range(3):
        next(it)
    state, random = loader.state_dict(), dy.get_rng_state()
    rest = [b.tolist() for b in it]
    following = [b.tolist() for b in loader]

    dy.manual_seed(99)
    dy.randn(3)
    fresh = make()
    fresh.load_state_dict(state)
    assert fresh.state_dict() == state
    dy.set_rng_state(random)
    assert [b.tolist() for b in fresh] == rest and len(rest) == 4
    assert [b.tolist() for b in fresh] == following
    with pytest.raises(ValueError, match='the state has no "order_seed"'):
        fresh.load_state_dict({"x": 1})


@pytest.mark.parametrize("workers", [0, 2])
def test_resuming_between_epochs_and_iterables(workers):
    loader = DataLoader(Noisy(6), 2, shuffle=True, num_workers=workers, generator=generator())
    list(loader)
    state = loader.state_dict()
    following = [b.tolist() for b in loader]
    fresh = DataLoader(Noisy(6), 2, shuffle=True, num_workers=workers, generator=generator(77))
    fresh.load_state_dict(state)
    assert [b.tolist() for b in fresh] == following

    class Drawn(IterableDataset):
        def __iter__(self):
            for i in range(11):
                yield dy.randn(1) + 10 * i

    loader = DataLoader(Drawn(), 2, num_workers=workers, generator=generator())
    it = iter(loader)
    next(it), next(it)
    state, rest = loader.state_dict(), [b.tolist() for b in it]
    fresh = DataLoader(Drawn(), 2, num_workers=workers, generator=generator(1))
    fresh.load_state_dict(state)
    assert [b.tolist() for b in fresh] == rest and len(rest) == 4


def test_generators():
    g = dy.Generator()
    assert g.manual_seed(4) is g and g.initial_seed() == 4
    state = g.get_state()
    first = list(RandomSampler(range(50), generator=g))
    assert list(RandomSampler(range(50), generator=g)) != first
    g.set_state(state)
    assert list(RandomSampler(range(50), generator=g)) == first
    draws = [dy.randn, dy.rand, lambda n, **g: dy.randperm(n, **g), lambda n, **g: dy.randint(0, 99, (n,), **g)]
    for f in draws:
        def draw(g):
            return f(9, generator=g)

        before = dy.get_rng_state().tolist()
        assert draw(generator()).tolist() == draw(generator()).tolist() and dy.get_rng_state().tolist() == before
        assert draw(g).tolist() != draw(g).tolist()
        draw(None)
        assert dy.get_rng_state().tolist() != before
    assert dy.full((4,), 0.5).bernoulli(generator=g).shape == (4,)
    with pytest.raises(TypeError, match="randn: an argument has the wrong type: generator is int; it takes a Generator or None"):
        dy.randn(3, generator=3)
    assert dy.seed_everything(3) == 3
    a = dy.randn(2).tolist(), np.random.rand()
    dy.seed_everything(3)
    assert a == (dy.randn(2).tolist(), np.random.rand())


def test_places_and_annotations():
    class Typed(Dataset[int]):
        def __len__(self):
            return 3

    assert DataLoader[int] is DataLoader and len(Typed()) == 3
    from dyadic.utils.data.dataloader import default_collate as collate
    from dyadic.utils.data.distributed import DistributedSampler as sampler

    assert collate is default_collate and sampler is DistributedSampler and dy.utils.data.DataLoader is DataLoader


def test_numbers_of_arrays_keep_their_dtype():
    for scalar, dtype in ((np.float32, dy.float32), (np.int32, dy.int32), (np.float16, dy.float16), (np.bool_, dy.bool), (np.float64, dy.float64)):
        batch = default_collate([scalar(1), scalar(0)])
        assert batch.dtype is dtype and batch.tolist() == [1, 0]
    assert default_collate([1, 2.5]).dtype is dy.float32 and default_collate([1.0, 2]).dtype is dy.float64
    alone = next(iter(DataLoader([np.float32(1)], batch_size=None)))
    assert alone.dtype is dy.float32 and tuple(alone.shape) == ()


def test_texts_of_sequences_are_tuples():
    assert default_collate([("a", 1), ("b", 2)])[0] == ("a", "b") and default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([{"s": "a"}, {"s": "b"}]) == {"s": ["a", "b"]}
    assert default_collate([(("a", "b"),), (("c", "d"),)]) == [[("a", "c"), ("b", "d")]]
