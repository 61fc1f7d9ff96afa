"""Products of groups of rows with a matrix each, as mixtures of experts have them."""
from .. import _dyadic


def _ends(offs, what, size):
    ends = [int(n) for n in offs.tolist()]
    if any(b < a for a, b in zip([0, *ends], ends)) or (ends and ends[-1] > size):
        raise ValueError(f"grouped_mm: offs are the ends of groups, in order and at most {size}, the {what}: they are {ends}")
    return list(zip([0, *ends], ends))


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """The product of each group. offs [G], int32: where groups end.
    [M, K] by [G, K, N]: groups of rows of mat_a, result [M, N], zeros behind the last group; [G, M, K] by [K, N]: groups of columns of
    mat_b, result [M, N]; [M, K] by [K, N]: groups of both along K, result [G, M, N]; [G, M, K] by [G, K, N] needs no offs."""
    a, b = mat_a, mat_b
    if a.dim() not in (2, 3) or b.dim() not in (2, 3):
        raise ValueError(f"grouped_mm: matrices or stacks of them: mat_a is {list(a.shape)}, mat_b is {list(b.shape)}")
    if (offs is None) != (a.dim() == 3 and b.dim() == 3):
        raise ValueError("grouped_mm: offs say where groups end, unless both are stacks of matrices, which need none")
    if a.dim() == 3 and b.dim() == 3:
        out = a @ b
    elif a.dim() == 2 and b.dim() == 3:
        spans = _ends(offs, "rows of mat_a", a.size(0))
        rest = a.new_zeros([a.size(0) - spans[-1][1], b.size(2)])
        out = _dyadic.cat([*(a[i:j] @ one for (i, j), one in zip(spans, b.unbind())), rest])
    elif a.dim() == 3:
        spans = _ends(offs, "columns of mat_b", b.size(1))
        rest = a.new_zeros([a.size(1), b.size(1) - spans[-1][1]])
        out = _dyadic.cat([*(one @ b[:, i:j] for (i, j), one in zip(spans, a.unbind())), rest], 1)
    else:
        spans = _ends(offs, "inner size", a.size(1))
        out = _dyadic.stack([a[:, i:j] @ b[i:j] for i, j in spans])
    out = out if bias is None else out + bias
    return out if out_dtype is None else out.to(out_dtype)
