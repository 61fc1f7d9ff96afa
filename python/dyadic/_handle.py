"""What registering a hook gives back."""


class RemovableHandle:
    """What a registration gives back: remove() undoes it. It is a context manager, too."""

    _next = 0

    def __init__(self, hooks):
        while RemovableHandle._next in hooks:  # of another process
            RemovableHandle._next += 1
        self.hooks, self.id = hooks, RemovableHandle._next
        RemovableHandle._next += 1

    def remove(self):
        """Removes the hook; a second time nothing happens."""
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()
