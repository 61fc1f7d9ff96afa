"""Calls at the edges of PyTorch's meaning, as texts for either library: make_edges.py stores what PyTorch makes of them, and
test_torch_edges.py compares. `x(...)` is a tensor whose gradient is asked for, `n(shape, dtype)` counts up, around zero."""

ROWS = ([1.0, 2.0, 4.0, 8.0], [3.0, 3.0, 3.0, 3.0], [1.0, 2.0, 3.0, 2.0])
DTYPES = "float64 float32 bfloat16".split()
INTEGERS = "int64 int32 uint8 int8 bool".split()


def cases():
    for op in ("var", "std", "var_mean", "std_mean"):
        for row in ROWS:
            for correction in (1.5, 3, 4, 5, 100.0):
                for dim in ("", ", dim=0", ", dim=0, keepdim=True"):
                    yield f"torch.{op}(x({row}, torch.float64), correction={correction}{dim})"
        for dtype in DTYPES[1:]:
            yield f"torch.{op}(x({ROWS[0]}, torch.{dtype}), correction=6, dim=0)"
            yield f"torch.{op}(x({ROWS[0]}, torch.{dtype}), correction=6)"
        for value in ("3.0", "[]", "[[], []]", "[5.0]", "[[1.0], [2.0], [4.0]]"):
            for options in ("", ", dim=0", ", dim=-1", ", correction=0", ", correction=7", ", dim=-1, correction=7"):
                yield f"torch.{op}(x({value}, torch.float64){options})"
    for dims in ("torch.tensor(0)", "torch.tensor(1)", "torch.tensor(1.5)", "torch.tensor([1])", "torch.tensor(True)", "torch.tensor([[1], [0]])", "torch.tensor([1, 0])", "torch.tensor(-1)", "-1"):
        yield f"torch.tensordot(n((3, 4), torch.float64), n((4, 2), torch.float64), dims={dims})"
    for self, index, source in (("3.0", "[0]", "[1.0]"), ("3.0", "0", "2.0"), ("3.0", "0", "[2.0]"), ("3.0", "[0]", "2.0"), ("[3.0, 4.0, 5.0]", "1", "2.0"), ("[3.0, 4.0, 5.0]", "[1]", "2.0"), ("[3.0, 4.0, 5.0]", "1", "[2.0]"), ("[[3.0, 4.0]]", "0", "[2.0, 1.0]"), ("[[3.0, 4.0]]", "0", "[[2.0, 1.0]]"), ("[[3.0, 4.0]]", "[0]", "[2.0, 1.0]"), ("[[3.0, 4.0]]", "0", "2.0"), ("[3.0, 4.0]", "[0, 1]", "2.0"), ("[3.0, 4.0, 5.0]", "[1, 2]", "[1.0, 2.0, 3.0]"), ("3.0", "1", "2.0"), ("[3.0]", "torch.tensor([], dtype=torch.int64)", "[]")):
        for op in ("index_copy", "index_add"):
            yield f"torch.{op}(x({self}, torch.float64), 0, torch.as_tensor({index}), x({source}, torch.float64))"
    for index, source in (("torch.tensor([], dtype=torch.int64)", "[]"), ("torch.tensor([0, 0])", "[2.0, 7.0]")):
        yield f"torch.index_copy(torch.tensor(3.0), 0, {index}, torch.tensor({source}))"
    for dtype in INTEGERS:
        for shape in ((2, 4, 4), (1, 1, 4), (1, 4, 2, 2), (2, 0, 4)):
            yield f"torch.nn.functional.local_response_norm(n({shape}, torch.{dtype}), 2, alpha=0.5)"
        for op in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout2d"):
            for p, training in ((0.5, True), (0.0, True), (1.0, True), (0.5, False)):
                yield f"torch.nn.functional.{op}(n((1, 2, 2, 2), torch.{dtype}), {p}, {training})"
        if dtype == "bool":
            continue
        for reduction in ("none", "sum"):
            yield f"torch.nn.functional.hinge_embedding_loss(n((5,), torch.{dtype}), torch.tensor([1, -1, 1, -1, 0]), margin=2.5, reduction='{reduction}')"
            yield f"torch.nn.functional.margin_ranking_loss(n((4,), torch.{dtype}), n((4,), torch.{dtype}).flip(0), torch.tensor([1, 0, 1, 1], dtype=torch.{dtype}), margin=0.5, reduction='{reduction}')"
            yield f"torch.nn.functional.triplet_margin_loss(n((2, 3), torch.{dtype}), n((2, 3), torch.{dtype}).flip(0), n((2, 3), torch.{dtype}), reduction='{reduction}')"
    for p in ("None", "'fro'", "'nuc'", "1", "-1", "2", "-2", "float('inf')", "-float('inf')"):
        for shape in ((0, 0), (2, 0, 0), (0, 3, 3), (0, 3)):
            if not (shape == (0, 3) and p in ("1", "-1", "float('inf')", "-float('inf')")):
                yield f"torch.linalg.cond(torch.zeros({shape}), {p})"
    for dtype in ("uint8", "int32", "int64", "float32", "bool"):
        for shape in ((0,), (0, 3)):
            index = f"torch.zeros({shape}, dtype=torch.{dtype})"
            yield f"torch.gather(x([1.0, 2.0], torch.float64), 0, {index})"
            yield f"torch.scatter(torch.ones(2), 0, {index}, torch.ones(0))"
            yield f"torch.scatter_add(torch.ones(2), 0, {index}, torch.ones(0))"
    yield "torch.gather(torch.ones(2), 0, torch.zeros(1, dtype=torch.uint8))"
    for mode in ("bicubic", "bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            for align in (True, False):
                yield f"torch.nn.functional.grid_sample(x(n((1, 2, 3, 4, 2), torch.float64)), x(n((1, 1, 2, 2, 3), torch.float64) / 5), mode='{mode}', padding_mode='{padding}', align_corners={align})"
    for driver in ("gels", "gelsd", "gelss"):
        for shape in ((4, 2), (2, 4, 2)):
            yield f"torch.linalg.lstsq(x((n({shape}, torch.float64) * 1.7).sin()), x((n({shape}, torch.float64) * 0.9).cos()), driver='{driver}').residuals"


def n_of(torch):
    def n(shape, dtype):
        count = 1
        for size in shape:
            count *= size
        values = torch.arange(count) * 5 % 7 - (0 if dtype in (torch.uint8, torch.bool) else 3)
        return values.reshape(shape).to(dtype)

    return n


def run(torch, text):
    """(results, gradients) of a call: of their sum, where something is to be differentiated."""
    asked = []

    def x(values, dtype=None):
        t = values if dtype is None else torch.tensor(values, dtype=dtype)
        asked.append(t.requires_grad_())
        return t

    r = eval(text, {"torch": torch, "n": n_of(torch), "x": x})
    results = list(r) if isinstance(r, (tuple, list)) else [r]
    grads = []
    if asked and results[0].requires_grad:
        grads = torch.autograd.grad(results[0].sum(), asked, allow_unused=True)
    return results, list(grads)
