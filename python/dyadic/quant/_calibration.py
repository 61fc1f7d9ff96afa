"""Running a model over data, as quantization asks for it."""
from .._dyadic import Tensor
from ..autograd import no_grad


def _tensors(values):
    return [v for v in (values if isinstance(values, (tuple, list)) else (values,)) if isinstance(v, Tensor)]


def _result(output):
    """The tensor of a model's output: itself, its logits, or the first of several."""
    if isinstance(output, Tensor):
        return output
    logits = getattr(output, "logits", None)
    return logits if isinstance(logits, Tensor) else _tensors(output if isinstance(output, (tuple, list)) else list(output.values()))[0]


class Calibration:
    def __init__(self, model, data):
        self._model, self._handles = model, {}
        self._function = data if callable(data) and not isinstance(data, Tensor) else None
        self._batches = [] if self._function else [data] if isinstance(data, Tensor) else list(data)
        if not self._function and not self._batches:
            raise ValueError("quantize: calibration is empty: give batches, or a function that is called with the model")

    def _call(self, batch):
        if isinstance(batch, dict):
            return self._model(**batch)
        return self._model(*batch) if isinstance(batch, (tuple, list)) else self._model(batch)

    def run(self):
        with no_grad():
            if self._function:
                self._function(self._model)
            for batch in self._batches:
                self._call(batch)

    def sample(self):
        with no_grad():
            if not self._function:
                return _result(self._call(self._batches[0]))
            output = self._function(self._model)
            if output is None:
                raise ValueError("quantize: the calibration function returns nothing: this method needs the model's results")
            return _result(output)

    @property
    def gives_logits(self):
        if self._function:
            return False
        first = self._batches[0]
        tensors = _tensors(list(first.values()) if isinstance(first, dict) else first)
        return bool(tensors) and not tensors[0].is_floating_point()

    def watch(self, module, key, before, after):
        def pre(_, args):
            if tensors := _tensors(args):
                before(tensors)

        def post(_, args, output):
            if (tensors := _tensors(args)) and (results := _tensors(output)):
                after(tensors, results)

        self._handles[id(module), key] = (module, module.register_forward_pre_hook(pre), module.register_forward_hook(post))

    def unwatch(self, module, key):
        for handle in self._handles.pop((id(module), key))[1:]:
            handle.remove()
