"""How well a language model predicts text: perplexity, its distance from another model, and questions with choices."""
from types import SimpleNamespace

from ._pretrained import _kv

__all__ = ["multiple_choice", "perplexity"]


def perplexity(model, data, tokenizer=None, window=512, stride=0, bos_token_id=None, base=None, kv=None):
    """How surprised a model is by a text (or by ids, a list), in nats and as exp of that.

    By llama-perplexity's rule: windows of `window` tokens follow one another, the tokenizer's BOS takes the place of each one's first
    token, and its second half is scored; ValueError for fewer than two windows. With a stride windows begin so far apart, and each
    token but the first is scored once. tokenizer: of texts; None: the model's. bos_token_id: of ids, where a window is to begin with
    one. base: another model of the same vocabulary. kv: the format of the keys and values that the model keeps, not its base, as
    generate()'s. Attributes of the result: perplexity, perplexity_stderr, nll, nll_stderr, tokens
    (that were scored), window, stride; with base kl_mean, kl_stderr, kl_p99 (Kullback-Leibler, nats), nll_change and nll_change_stderr (the
    logarithm of the perplexities' ratio), same_top, same_top_stderr, rms_dp.
    """
    if isinstance(data, str):
        tokenizer = tokenizer or model.tokenizer
        if tokenizer is None:
            raise ValueError("perplexity: the model came without a tokenizer; give one, or ids")
    else:
        tokenizer, data = None, [int(i) for i in (data.tolist() if hasattr(data, "tolist") else data)]
    return SimpleNamespace(**model._perplexity(tokenizer, data, window, stride, bos_token_id, base, _kv(kv)))


def multiple_choice(model, questions, tokenizer=None):
    """Questions {"context": text, "choices": [text, ...], "answer": number}: how often the choice with the largest summed
    log-probability is the answer (acc), the same divided by the choice's characters (acc_norm), with their standard errors, and each
    choice's log_probabilities."""
    tokenizer = tokenizer or model.tokenizer
    if tokenizer is None:
        raise ValueError("multiple_choice: the model came without a tokenizer; give one")
    return SimpleNamespace(**model._multiple_choice(tokenizer, list(questions)))
