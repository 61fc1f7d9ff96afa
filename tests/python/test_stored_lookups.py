"""What is read by index of stored tensors (scaled or packed): the same bits as of what they decode to, which is not decoded whole."""
import pytest

import dyadic as dy

FORMATS = ("nf4", "q4_K", "q8_0", "i8(row)", "mxfp4", "f4e2m1fn", "f6e3m2fn", "i4")
SHAPE, BOUND = (768, 1024), 256 << 10  # bytes of workspace: decoded whole it is 3 MB
rows = dy.tensor([5, 0, 767, -2, 5])

LOOKUPS = {
    "index_select": lambda w: w.index_select(0, rows % w.shape[0]),
    "columns": lambda w: w.index_select(1, rows % w.shape[1]),
    "index": lambda w: w[rows],
    "last": lambda w: w[:, rows],
    "pairs": lambda w: w[rows, rows],
    "middle": lambda w: w[rows[:2, None]],
    "number": lambda w: w.index_select(0, dy.tensor(3)),
    "none": lambda w: w[rows[:0]],
    "part": lambda w: w[64:].index_select(0, rows[:2]),
}


def values(shape=SHAPE):
    n = shape[0] * shape[1]
    return ((dy.arange(n) * 7919 % 10007).double() / 5003 - 1).float().reshape(shape) * 3


def peak(f):
    """(result, bytes of workspace)."""
    dy.reset_peak_memory_stats()
    before = dy.memory_stats()["workspace.live"]
    r = f()
    return r, dy.memory_stats()["workspace.peak"] - before


def plain(w, name):
    return w.to(dy.int32) if name == "i4" else w.float()


def same(a, b):
    """The same values, b rounded to a's dtype."""
    assert a.shape == b.shape
    a, b = (t.double() if a.dtype.is_floating_point else t.to(dy.int64) for t in (a, b.to(a.dtype)))
    return bool(((a == b) | ((a != a) & (b != b))).all())


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("name", FORMATS)
def test_bits_and_bytes(name, threads):
    before = dy.get_num_threads()
    dy.set_num_threads(threads)
    try:
        w = values().to(name)
        reference = plain(w, name)
        for what, f in LOOKUPS.items():
            (r, bytes), expected = peak(lambda: f(w)), f(reference)
            assert same(r, expected), what
            assert bytes < BOUND, (what, bytes)
    finally:
        dy.set_num_threads(before)


def test_an_index_out_of_range_is_named():
    w = values().to("nf4")
    with pytest.raises(IndexError, match="index_select: index out of range: index 768 at position 1; dimension 0 has 768 entries"):
        w.index_select(0, dy.tensor([0, 768]))
    with pytest.raises(IndexError, match="index: index out of range: index -769"):
        w[dy.tensor([-769])]


def test_results_that_are_given():
    w, out = values().to("nf4"), dy.empty(SHAPE[1], 5).t()
    dy.index_select(w, 0, rows % 768, out=out)
    assert same(out, w.float().index_select(0, rows % 768)) and not out.is_contiguous()
