"""finetune: language models trained further, all of them or an adapter on weights of any format."""
from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from . import _dyadic
from ._sizes import size_in_bytes
from .distributed import is_initialized
from ._pretrained import LoraConfig, from_pretrained

__all__ = ["FinetuneReport", "MergeChoice", "finetune"]


class MergeChoice(NamedTuple):
    """What an adapter's additions were added to, and what that cost on probe samples."""

    into: str  # "dequantized", "original" or "requantized"
    error: float  # mean Kullback-Leibler divergence from what was trained, in nats
    loss: float
    bytes: int  # of the merged model
    chosen: bool


class FinetuneReport(NamedTuple):
    """What a run did. Losses are in nats per learned token; None: not evaluated."""

    model: Any
    finished: bool  # False: interrupted, with a checkpoint if there is a folder
    steps: int
    samples: int
    rows: int
    eval_samples: int
    tokens: int
    learned: int  # tokens that the loss counts
    cut: int  # samples that were longer than a row
    dropped: int
    split: int  # chats that became a sample for each answer
    trained: int  # parameters
    train_loss: float
    eval_loss_before: float | None
    eval_loss: float | None
    seconds: float
    predicted: dict[str, int]  # bytes that a step was to take, by what they hold, and at the peak
    shards: int  # that a step's rows were cut into; 0: none
    sent_per_step: int  # bytes to other ranks, at most
    repeated_calls: int  # of forward, that backward made again in each step to fit into memory_limit
    merges: list[MergeChoice]


def _jsonl(data):
    """Text of lines, and its name."""
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        return _dyadic._finetune_data(path), path
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in data), "data"


def _lora_text(lora):
    """What parse_lora reads."""
    if lora is None or isinstance(lora, str):
        return lora
    targets = [lora.target_modules] if isinstance(lora.target_modules, str) else lora.target_modules
    words = [f"rank={lora.r}", f"alpha={lora.lora_alpha}", f"dropout={lora.lora_dropout}", "targets=" + "+".join(targets)]
    return ",".join(words + ["rslora"] * lora.use_rslora + ["dora"] * lora.use_dora)


def _format(value):
    return _dyadic.dtype(value) if isinstance(value, str) else value


def _load(path, base):
    base = _format(base)
    return _dyadic._load_pretrained(path, None, None, base, ["lm_head"]) if base is not None and base.is_scaled else from_pretrained(path, base)


def _train(run, lesson, model, data, tokenizer, base, eval, on_step, options):
    """Calls the library's `run` with what `lesson` adds."""
    options = dict(options)
    if _dyadic._distributed.launched() > 1 and not is_initialized():
        raise ValueError(f"finetune: {_dyadic._distributed.launched()} processes were started together: call dyadic.distributed.init_process_group() first")
    if isinstance(model, (str, os.PathLike)):
        options["model_path"] = path = os.fspath(model)
        tokenizer = tokenizer or _dyadic.Tokenizer.load(path)
        model = _load(path, base)
        model.tokenizer = tokenizer
    elif base is not None:
        raise ValueError("finetune: base says how a model is read from its path: give the path, or load it in that format")
    tokenizer = tokenizer or model.tokenizer
    if tokenizer is None:
        raise ValueError("finetune: the model came without a tokenizer; give one")
    for name in ("out", "model_path"):
        options[name] = "" if options[name] is None else os.fspath(options[name])
    options |= dict(lora=_lora_text(options["lora"]), epochs=float(options["epochs"]), state=_format(options["state"]),
                    compute=_format(options["compute"]), wire=_format(options["wire"]), merge=options["merge"] or "none", memory_limit=size_in_bytes(options["memory_limit"] or 0, "memory_limit"))
    jsonl, name = _jsonl(data)
    report = run(model, tokenizer, jsonl, name, options, None if eval is None else _jsonl(eval)[0], on_step, *lesson)
    merges = [MergeChoice(**m) for m in report.pop("merges")]
    return FinetuneReport(model, merges=merges, **report)


def finetune(model, data, *, tokenizer=None, lora: "str | LoraConfig | None" = None, base=None, context=512, too_long="cut", packing=True,
             steps=None, epochs=1.0, batch=4, accumulate=1, lr=None, warmup=0.03, weight_decay=0.0, clip=1.0, optimizer="AdamW", state=None,
             compute=None, eval=None, eval_split=0.0, eval_every=0, checkpoint_every=0, keep_zeros=False, seed=0, out=None, resume=False, merge=None,
             model_path=None, progress=False, on_step=None, memory_limit: "int | str | None" = None, shards=0, spread="none", wire=None) -> FinetuneReport:
    """Trains a language model further, on what is answered in chats, on completions or on texts.

    model: of from_pretrained, or the path of one, whose linear layers are then read as `base` ("nf4", "i8(row)"; a float: all of it).
    data: a .jsonl file, a text file, or a list of dicts: {"messages": [{"role", "content"}, ...]} as the tokenizer's chat template writes
    it, of which what the assistant says is learned, {"prompt", "completion"} or {"text"}. Longer samples than `context` tokens are cut,
    dropped or refused (too_long). packing: several samples in a row, which do not see each other.

    lora: "rank=16,alpha=32,targets=q_proj+v_proj,dropout=0.05,rslora,dora" or a LoraConfig: an adapter is trained, on weights of any
    format; None: all weights are, which must be floats of 16 bits at least. steps: of the optimizer, each of `accumulate` batches of
    `batch` rows; None: as many as `epochs` take. lr: 2e-4 of an adapter, 2e-5 of all weights; it rises for `warmup` of the steps and
    falls to a tenth. state: the format of the optimizer's states (dynamic8). compute: bf16 or f16 by autocast. eval: data to evaluate
    on; or eval_split, a share of the samples that is held back. keep_zeros: weights that are zero (dyadic.prune) stay so. on_step(step, steps, loss, lr, tokens_per_s, eval_loss) is called after
    each step, and ends the run by returning False.

    out: a folder for the adapter in PEFT's files, or the whole model, and history.csv; with resume an interrupted run goes on from its
    checkpoint, to the same bits. merge: "best" of "dequantized", "original" and "requantized", or one of them: what the adapter is
    added to at the end, in out/merged. memory_limit: bytes that all tensors of a step may take, 4 << 30 or "4G": to fit, backward makes
    calls of forward again, to the same bits; OutOfMemoryError that names the least where that is not enough. model_path: where the model came from, for the tokenizer's files and original weights.

    shards: on several processes (dyadic.distributed) the rows of a step, batch x accumulate, are cut into so many parts, 8 unless said: the
    same bits on any number of ranks. spread: what each rank has a part of alone, "states", "gradients" or "parameters". wire: the format
    that gradients travel in. Files are the first rank's; on_step ends a run by False on any rank, after the next step.

    ValueError before any work for data that is not as it must be, with the line's number.
    """
    options = dict(lora=lora, context=context, too_long=too_long, packing=packing, steps=steps, epochs=epochs, batch=batch, accumulate=accumulate,
                   lr=lr, warmup=warmup, weight_decay=weight_decay, clip=clip, optimizer=optimizer, state=state, compute=compute,
                   eval_split=eval_split, eval_every=eval_every, checkpoint_every=checkpoint_every, keep_zeros=keep_zeros, seed=seed, out=out,
                   resume=resume, merge=merge, model_path=model_path, progress=progress, memory_limit=memory_limit, shards=shards, spread=spread, wire=wire)
    return _train(_dyadic._finetune, (), model, data, tokenizer, base, eval, on_step, options)
