"""How pickle takes objects of _core apart and makes them again: functions that it can find by name."""
from . import _core


def make_state(model, data):
    return _core.State.from_bytes(model, data)


def make_scene(*parts):
    return _core.Scene._from_parts(*parts)


_core.State.__reduce__ = lambda self: (make_state, (self.model, self.to_bytes()))
_core.Scene.__reduce__ = lambda self: (make_scene, self._parts())
