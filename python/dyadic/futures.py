"""Results that come later."""
import threading


class Future:
    """A value that someone sets, from whatever thread, and for which others wait."""

    def __init__(self, *, devices=None):
        if devices:
            raise ValueError(f"futures.Future: there are no GPUs: devices is {devices}")
        self._there, self._lock, self._calls, self._value, self._error = threading.Event(), threading.Lock(), [], None, None

    def done(self):
        """Whether it is there."""
        return self._there.is_set()

    def wait(self):
        """The value, when it is there; the exception, where that was set."""
        self._there.wait()
        return self.value()

    def value(self):
        """The value, which must be there."""
        if not self.done():
            raise RuntimeError("futures.Future.value: it is not there yet; wait() waits for it")
        if self._error is not None:
            raise self._error
        return self._value

    def _set(self, value, error):
        with self._lock:
            if self.done():
                raise RuntimeError("futures.Future: the result is set already")
            self._value, self._error = value, error
            self._there.set()
            calls, self._calls = self._calls, []
        for call in calls:
            call(self)

    def set_result(self, result):
        """Sets the value, once."""
        self._set(result, None)

    def set_exception(self, result):
        """Sets what wait() raises."""
        if not isinstance(result, Exception):
            raise TypeError(f"futures.Future.set_exception: it takes an exception, not {type(result).__name__}")
        self._set(None, result)

    def add_done_callback(self, callback):
        """callback(self) when it is there, at once if it is."""
        with self._lock:
            if not self.done():
                self._calls.append(callback)
                return
        callback(self)

    def then(self, callback):
        """The Future of callback(self)."""
        made = Future()

        def call(future):
            try:
                result = callback(future)
            except Exception as e:
                made.set_exception(e)
            else:
                made.set_result(result)

        self.add_done_callback(call)
        return made


def collect_all(futures):
    """The Future of the list of them all, when the last one is there."""
    made, left, lock = Future(), len(futures), threading.Lock()

    def one(_):
        nonlocal left
        with lock:
            left -= 1
            last = not left
        if last:
            made.set_result(list(futures))

    for future in futures:
        future.add_done_callback(one)
    if not futures:
        made.set_result([])
    return made


def wait_all(futures):
    """The values of them all."""
    return [future.value() for future in collect_all(futures).wait()]
