"""Calls of language models: ids or vectors in; logits, the loss, hidden states and what is kept of the tokens out."""
from . import _dyadic
from ._dyadic import _KeyValueCache
from ._generation import ids_of
from .nn import functional as F


class CausalLMOutput:
    """What a model says of tokens: loss where there are labels, logits, past_key_values and hidden_states where they are asked for.
    Indexed by name or, as a tuple of what there is, by number."""

    def __init__(self, logits, loss=None, past_key_values=None, hidden_states=None):
        self.loss, self.logits, self.past_key_values, self.hidden_states = loss, logits, past_key_values, hidden_states

    def to_tuple(self):
        return tuple(value for value in self.__dict__.values() if value is not None)

    def __getitem__(self, key):
        return self.__dict__[key] if isinstance(key, str) else self.to_tuple()[key]

    def __iter__(self):
        return iter(self.to_tuple())


def _spans(mask):
    """Where each row's tokens begin and end."""
    spans = []
    for i, row in enumerate((mask != 0).tolist()):
        begin, count = row.index(True) if any(row) else 0, sum(row)
        if count == 0 or not all(row[begin : begin + count]):
            raise ValueError(f"forward: attention_mask: the ones of row {i} are to be one run, with zeros before or after it; leave out what is masked within")
        spans.append((begin, begin + count))
    return spans


def _with_cache(self, ids, mask, cache, embeds, states):
    """Rows that follow what the cache holds: of shorter ones zeros stand before all their tokens."""
    pad = None
    if mask is not None and not bool((mask != 0).all()):
        if any(end != mask.size(1) for _, end in _spans(mask)):
            raise ValueError("forward: attention_mask: rows with a cache are padded on their left")
        pad = (mask == 0).sum(1)
    return self._forward_with(ids, cache, pad, embeds, None, states)


def _padded(x, begin, length):
    return F.pad(x, (0, 0, begin, length - begin - x.size(1)))


def _run(self, ids, mask, cache, embeds, types, states):
    """Logits of rows of which some are padded, and hidden states. Those of padding mean nothing."""
    batch, length = (ids if embeds is None else embeds).shape[:2]
    if mask is not None and tuple(mask.shape) != (batch, length + (0 if cache is None else len(cache))):
        before = f" after {len(cache)} that are kept" if cache is not None and len(cache) else ""
        raise ValueError(f"forward: attention_mask is {list(mask.shape)}, ids are {[batch, length]}{before}: one number for each token")
    if cache is not None:
        return _with_cache(self, ids, mask, cache, embeds, states)
    spans = None if mask is None or bool((mask != 0).all()) else _spans(mask)
    if spans is None or (self.config.model_type != "bert" and all(begin == 0 for begin, _ in spans)):
        return self._forward_with(ids, None, None, embeds, types, states)  # no token sees what comes after it
    part = lambda x, i, begin, end: None if x is None else x[i : i + 1, begin:end]  # noqa: E731
    rows = [self._forward_with(part(ids, i, *span), None, None, part(embeds, i, *span), part(types, i, *span), states) for i, span in enumerate(spans)]
    together = lambda all: _dyadic.cat([_padded(x, begin, length) for x, (begin, _) in zip(all, spans)])  # noqa: E731
    layers = zip(*(row[1] for row in rows)) if states else ()
    return together([logits for logits, _ in rows]), [together(layer) for layer in layers]


def _learned(labels, mask):
    """Labels without what padding is followed by: nothing has seen it coming."""
    if mask is None:
        return labels
    if bool(((mask == 0) & (labels != -100)).any()):
        raise ValueError("forward: labels are to be -100 where attention_mask is 0: padding is not learned")
    return _dyadic.cat([labels[:, :1], labels[:, 1:].masked_fill(mask[:, :-1] == 0, -100)], 1)


def _kept(self, cache, past_key_values, use_cache):
    """The cache of a call, or None."""
    if cache is not None and past_key_values is not None and cache is not past_key_values:
        raise ValueError("forward: cache and past_key_values are two names of one thing; give one of them")
    given = past_key_values if cache is None else cache
    if given is None:
        return self.new_cache() if use_cache else None
    if not isinstance(given, _KeyValueCache):
        raise TypeError(f"forward: past_key_values is a {type(given).__name__}; use_cache=True, new_cache() or transformers.DynamicCache() makes one")
    return given


def forward(self, input_ids=None, labels=None, cache=None, attention_mask=None, token_type_ids=None, use_cache=None, return_dict=None,
            past_key_values=None, inputs_embeds=None, output_hidden_states=None, output_attentions=None):
    """Logits of tokens i64 [B, T]; with labels the mean cross entropy of each token's successor too, -100 passed over.

    past_key_values, or cache: of a call with use_cache=True, or of new_cache(): the tokens follow those in it, and it has these as
    well then; nothing is recorded for backward. attention_mask: zeros before or after the tokens of shorter rows, whose logits are as
    they would be alone; those of padding mean nothing. With past_key_values it has a number for each token of these too, and zeros
    stand before all of a row. token_type_ids: an encoder (BERT) is told by them which of two texts a token is of; for others zeros.
    inputs_embeds: what get_input_embeddings() gives, [B, T, width], in the place of ids. output_hidden_states: what enters the layers
    and what each gives, the last one's behind the norm. return_dict=False: a tuple. Attention's weights are never made whole, so there
    is no output_attentions."""
    if output_attentions:
        raise ValueError("forward: output_attentions: attention's weights are never made whole, and so not given; output_hidden_states are")
    if (input_ids is None) == (inputs_embeds is None):
        raise ValueError("forward: give input_ids or inputs_embeds, and one of them")
    ids = None if input_ids is None else ids_of(input_ids)
    device = (inputs_embeds if ids is None else ids).device
    of_device = lambda x: None if x is None else ids_of(x).to(device)  # noqa: E731
    mask, types = of_device(attention_mask), of_device(token_type_ids)
    if types is not None and not bool(types.any()):
        types = None
    kept = _kept(self, cache, past_key_values, use_cache)
    logits, states = _run(self, ids, mask, kept, inputs_embeds, types, bool(output_hidden_states))
    made = CausalLMOutput(logits, hidden_states=tuple(states) if output_hidden_states else None)
    if kept is not None and use_cache is not False:
        made.past_key_values = kept
    if labels is not None:
        own = None if mask is None else mask[:, mask.size(1) - logits.size(1) :]
        labels = _learned(ids_of(labels), own)
        made.loss = F.cross_entropy(made.logits[:, :-1].reshape(-1, made.logits.size(2)), labels[:, 1:].reshape(-1))
    return made.to_tuple() if return_dict is False else made
