"""PyTorch's own samples of its ops, layers and optimizers, computed there and here: what differs, a line each.

usage: torch_samples.py ops|layers|optimizers [--dtype float64 ...] [--name PART] [--most N] [--json FILE]

Wants PyTorch, expecttest and this package in one Python. Ops: each sample of each OpInfo (torch.testing._internal), values, dtypes,
shapes, and gradients for a fixed upstream one where the dtype is float64 or complex128. Layers: each input of each ModuleInfo with
PyTorch's parameters, forward, gradients and buffers, in training and evaluation. Optimizers: six steps of each configuration of
optim_db. What PyTorch refuses is no sample. Not compared: random results (their shapes and dtypes are), callables and generators as
arguments. Of what it prints, eigenvectors' signs, calls that go by a lambda of OpInfo's in another order of arguments, and names that
are dtypes here (torch.float) are no differences.
"""
import argparse
import collections
import inspect
import json
import signal
import sys
import warnings

import numpy as np
import torch

import dyadic

warnings.filterwarnings("ignore")
TOLERANCE = collections.defaultdict(lambda: 1e-7, float32=1e-4, complex64=1e-4, bfloat16=2e-2, float16=3e-3)
RANDOM = ("bernoulli", "multinomial", "normal", "rand", "dropout", "uniform", "cauchy", "exponential", "geometric", "empty", "rrelu",
          "gumbel", "fractional", "lowrank", "scaled_dot_product")
RANDOM_LAYERS = ("Dropout", "RReLU", "Transformer", "MultiheadAttention", "Fractional")


class NotCompared(Exception):
    pass


class Slow(Exception):
    pass


def name_of(dtype):
    return str(dtype).rpartition(".")[2]


def here(x, grad=False):
    """PyTorch's value as this package's: tensors with their strides, dtypes, lists of them."""
    if isinstance(x, torch.Tensor):
        if x.layout != torch.strided or isinstance(x, torch.nn.parameter.UninitializedTensorMixin):
            raise NotCompared
        whole = x.detach().resolve_conj().resolve_neg()
        if whole.dtype == torch.bfloat16:
            t = dyadic.from_numpy(whole.float().contiguous().numpy().copy()).bfloat16()
        else:
            t = dyadic.from_numpy(whole.contiguous().numpy().copy())
        if not whole.is_contiguous() and whole.numel() and all(s for n, s in zip(whole.shape, whole.stride()) if n > 1):
            span = 1 + sum((n - 1) * s for n, s in zip(whole.shape, whole.stride()))
            t = dyadic.empty(span, dtype=t.dtype).as_strided(tuple(whole.shape), tuple(whole.stride())).copy_(t)
        return t.detach().requires_grad_(True) if grad and x.requires_grad else t
    if isinstance(x, (torch.dtype, torch.memory_format, torch.layout)):
        return getattr(dyadic, name_of(x))
    if isinstance(x, torch.device):
        return dyadic.device(str(x))
    if isinstance(x, torch.Generator) or (callable(x) and not isinstance(x, type)):
        raise NotCompared
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(here(y, grad) for y in x))
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
        return type(x)(here(y, grad) for y in x)
    return {k: here(v, grad) for k, v in x.items()} if isinstance(x, dict) else x


def flat(x, kind):
    if isinstance(x, (list, tuple)) and not isinstance(x, (torch.Size, dyadic.Size)):
        return [z for y in x for z in flat(y, kind)]
    return [z for y in x.values() for z in flat(y, kind)] if isinstance(x, dict) else [x]


def tensors(x, kind):
    return [t for t in flat(x, kind) if isinstance(t, kind)]


def numbers(t):
    t = t.detach()
    t = t.float() if name_of(t.dtype) in ("bfloat16", "float16") else t
    return t.resolve_conj().resolve_neg().numpy(force=True)


def difference(there, mine, dtype, values=True):
    """How `mine` is another result than `there`; "" where it is the same."""
    if isinstance(there, torch.Tensor) != isinstance(mine, dyadic.Tensor):
        return f"{type(mine).__name__} for {type(there).__name__}"
    if not isinstance(there, torch.Tensor):
        same = np.isclose(there, mine, rtol=1e-4, equal_nan=True) if isinstance(there, float) else str(there) == str(mine) or there == mine
        return "" if same or not values else f"{mine!r} for {there!r}"
    if name_of(there.dtype) != name_of(mine.dtype):
        return f"{mine.dtype} for {there.dtype}"
    if tuple(there.shape) != tuple(mine.shape):
        return f"{tuple(mine.shape)} for {tuple(there.shape)}"
    if not values:
        return ""
    x, y = numbers(there), numbers(mine)
    tolerance = max(TOLERANCE[name_of(there.dtype)], TOLERANCE[dtype])
    largest = max(1.0, float(np.abs(np.where(np.isfinite(x), x, 0)).max(initial=0)))
    same = np.isclose(x, y, rtol=tolerance, atol=tolerance * largest, equal_nan=True) if x.dtype.kind in "fc" else x == y
    if np.all(same):
        return ""
    at = np.unravel_index(int(np.argmin(same)), same.shape)
    return f"{y[at]} for {x[at]} at {tuple(map(int, at))}, {int((~same).sum())} of {same.size}"


def differences(there, mine, dtype, values=True):
    a, b = flat(there, torch.Tensor), flat(mine, dyadic.Tensor)
    if len(a) != len(b):
        return f"{len(b)} results for {len(a)}"
    return next(filter(None, (difference(x, y, dtype, values) for x, y in zip(a, b))), "")


def upstream(results):
    random = np.random.default_rng(0)
    for r in results:
        v = random.standard_normal(tuple(r.shape))
        yield torch.from_numpy(np.asarray(v + 1j * random.standard_normal(v.shape) if r.is_complex() else v)).to(r.dtype)


def gradient_difference(there, mine, inputs, my_inputs, dtype):
    pairs = [(a, b) for a, b in zip(flat(there, torch.Tensor), flat(mine, dyadic.Tensor)) if isinstance(a, torch.Tensor) and a.requires_grad]
    leaves = [(a, b) for a, b in zip(tensors(inputs, torch.Tensor), tensors(my_inputs, dyadic.Tensor)) if a.requires_grad]
    if not pairs or not leaves:
        return ""
    if not all(b.requires_grad for _, b in pairs):
        return "a result has no gradient here"
    given = list(upstream([a for a, _ in pairs]))
    expected = torch.autograd.grad([a for a, _ in pairs], [a for a, _ in leaves], given, allow_unused=True)
    found = dyadic.autograd.grad([b for _, b in pairs], [b for _, b in leaves], [here(g) for g in given], allow_unused=True)
    for a, b in zip(expected, found):
        if a is None or b is None:
            one = next((numbers(g) for g in (a, b) if g is not None), np.zeros(1))
            if np.any(one):
                return "a gradient is None for one"
        elif what := difference(a, b, dtype):
            return what
    return ""


def shown(x):
    if isinstance(x, torch.Tensor):
        return f"{name_of(x.dtype)}{list(x.shape)}" + ("" if x.layout != torch.strided or x.is_contiguous() else f" strides {x.stride()}")
    if isinstance(x, (list, tuple)):
        return "(" + ", ".join(map(shown, x)) + ")"
    return ", ".join(f"{k}={shown(v)}" for k, v in x.items()) if isinstance(x, dict) else repr(x)


class Report:
    def __init__(self, file):
        self.kinds, self.file, self.seen = collections.Counter(), open(file, "w") if file else None, set()

    def add(self, kind, name, dtype="", call="", what=""):
        self.kinds[kind] += 1
        if kind == "same":
            return
        if self.file:
            print(json.dumps(dict(kind=kind, name=name, dtype=dtype, call=call, what=what)), file=self.file, flush=True)
        if (kind, name, dtype) not in self.seen:
            self.seen.add((kind, name, dtype))
            print(f"{kind}: {name} {dtype} {call[:120]}: {what[:160]}".rstrip(": "), flush=True)

    def compare(self, name, dtype, call, there, mine):
        """`there` computes PyTorch's result; `mine` gets it, and says what differs."""
        signal.alarm(30)
        try:
            try:
                expected = there()
            except Exception:
                return
            what = mine(expected)
            self.add("differs" if what else "same", name, dtype, call, what)
        except NotCompared:
            pass
        except Slow:
            self.add("slow", name, dtype, call)
        except BaseException as error:
            self.add("error", name, dtype, call, f"{type(error).__name__}: {error}")
        finally:
            signal.alarm(0)


def found(names):
    for name in names:
        try:
            o = dyadic
            for part in name.split("."):
                o = getattr(o, part)
            return o
        except AttributeError:
            if hasattr(dyadic.Tensor, name):
                return getattr(dyadic.Tensor, name)
    return None


def ops(report, dtypes, part, most):
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        name, mine = f"{op.name}.{op.variant_test_name}".rstrip("."), found([op.name, *(a.name for a in op.aliases)])
        if part not in name:
            continue
        if mine is None:
            report.add("absent", name)
            continue
        values = not any(r in op.name for r in RANDOM)
        for dtype in {name_of(d) for d in op.supported_dtypes("cpu")} & set(dtypes):
            grad = op.supports_autograd and dtype in ("float64", "complex128")
            try:
                samples = list(op.sample_inputs("cpu", getattr(torch, dtype), requires_grad=grad))[:most]
            except Exception:
                continue
            for s in samples:
                inputs = [s.input, list(s.args), dict(s.kwargs)]

                def check(expected):
                    given = here(inputs, grad)
                    result = mine(given[0], *given[1], **given[2])
                    what = differences(expected, result, dtype, values)
                    return what or (gradient_difference(expected, result, inputs, given, dtype) if grad and values else "")

                report.compare(name, dtype, shown(inputs), lambda: op.op(s.input, *s.args, **s.kwargs), check)


def layers(report, dtypes, part, most):
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        mine = found([info.name])
        if mine is None:
            report.add("absent", info.name)
        for dtype in dtypes if mine and part in info.name else ():
            for training in (True, False):
                inputs = info.module_inputs_func(info, device="cpu", dtype=getattr(torch, dtype), requires_grad=False, training=training)
                for i in list(inputs)[:most]:
                    if i.forward_input is None or "Lazy" in info.name:
                        continue
                    made, given = i.constructor_input, i.forward_input

                    def there():
                        torch.manual_seed(0)
                        model = info.module_cls(*made.args, **made.kwargs).to(getattr(torch, dtype)).train(training)
                        before = {k: v.clone() for k, v in model.state_dict().items()}
                        result = model(*given.args, **given.kwargs)
                        return model, before, result

                    def check(expected):
                        model, before, result = expected
                        own = mine(*here(list(made.args)), **here(dict(made.kwargs))).to(getattr(dyadic, dtype)).train(training)
                        own.load_state_dict(here(before))
                        if set(own.state_dict()) != set(before):
                            return f"names of the state: {sorted(set(own.state_dict()) ^ set(before))}"
                        values = not (training and any(r in info.name for r in RANDOM_LAYERS))
                        y = own(*here(list(given.args)), **here(dict(given.kwargs)))
                        what = differences(result, y, dtype, values)
                        if not what and values and dtype == "float64":
                            a, b = list(model.parameters()), list(own.parameters())
                            what = gradient_difference(result, y, a, b, dtype)
                        return what or differences(list(model.buffers()), list(own.buffers()), dtype, values)

                    report.compare(info.name, dtype, f"{shown(made.args)} {shown(made.kwargs)} training={training} {shown(given.args)}", there, check)


def optimizers(report, dtypes, part, most):
    from torch.testing._internal.common_optimizers import optim_db

    for info in optim_db:
        name = info.optim_cls.__name__
        mine = getattr(dyadic.optim, name, None)
        if mine is None:
            report.add("absent", name)
        for options in [i.kwargs for i in info.optim_inputs_func("cpu")][:most] if mine and part in name else ():
            for dtype in dtypes if not (options.get("fused") or options.get("capturable")) else ():

                def steps(cls, parameters, options):
                    optimizer, random = cls(parameters, **options), torch.Generator().manual_seed(1)
                    for _ in range(6):
                        for p in parameters:
                            g = torch.randn(*p.shape, dtype=getattr(torch, dtype), generator=random)
                            p.grad = g if isinstance(p, torch.Tensor) else here(g)
                        arguments = [lambda: (parameters[0] ** 2).sum()] if "closure" in inspect.signature(cls.step).parameters and name == "LBFGS" else []
                        optimizer.step(*arguments)
                    return parameters

                torch.manual_seed(0)
                begun = [torch.randn(*shape, dtype=getattr(torch, dtype)) for shape in [(4, 3), (3, 6), (2, 2)]]
                report.compare(name, dtype, shown(options), lambda: steps(info.optim_cls, [t.clone().requires_grad_() for t in begun], options),
                               lambda e: differences(e, steps(mine, [here(t).requires_grad_() for t in begun], here(options)), dtype))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["ops", "layers", "optimizers"])
    parser.add_argument("--dtype", nargs="+", default=["float64"], help="torch's names (float64)")
    parser.add_argument("--name", default="", help="only what has this in its name")
    parser.add_argument("--most", type=int, default=25, help="samples of one op and dtype (25)")
    parser.add_argument("--json", help="each difference as a line of JSON to this file")
    a = parser.parse_args()

    def alarm(*_):
        raise Slow

    signal.signal(signal.SIGALRM, alarm)
    report = Report(a.json)
    {"ops": ops, "layers": layers, "optimizers": optimizers}[a.what](report, a.dtype, a.name, a.most)
    print(", ".join(f"{n} {kind}" for kind, n in sorted(report.kinds.items())))
    return 0 if report.kinds["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
