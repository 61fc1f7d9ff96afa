"""LBFGS's memory: PyTorch's lists, and the numbered entries that C++ has: s0, y0, ro0, s1 ..."""


def listed(state):
    """PyTorch's words: pairs of steps and of what they did to the gradient are lists."""
    of = lambda key: [state[f"{key}{i}"] for i in range(len(state)) if f"{key}{i}" in state]  # noqa: E731
    whole = {key: int(state[key]) for key in ("func_evals", "n_iter") if key in state}
    lists = {"old_dirs": of("y"), "old_stps": of("s"), "ro": of("ro"), "H_diag": state.get("scale", 1)}
    last = {key: state[key] for key in ("prev_flat_grad", "prev_loss") if key in state}
    return {**whole, "d": state.get("d"), "t": state.get("t"), **lists, **last}


def numbered(state):
    """C++'s."""
    of = lambda key, short: {f"{short}{i}": v for i, v in enumerate(state.get(key) or ())}  # noqa: E731
    names = ("func_evals", "n_iter", "d", "t", "prev_flat_grad", "prev_loss")
    plain = {key: state[key] for key in names if state.get(key) is not None}
    scale = {} if state.get("H_diag") is None else {"scale": state["H_diag"]}
    return {**plain, **of("old_dirs", "y"), **of("old_stps", "s"), **of("ro", "ro"), **scale}
