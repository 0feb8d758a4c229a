"""How pickle takes objects of _core apart and makes them again: functions that it can find by name."""
from __future__ import annotations

from typing import Any

from . import _core


def make_state(model: _core.Model, data: bytes) -> _core.State:
    return _core.State.from_bytes(model, data)


def make_scene(*parts: Any) -> _core.Scene:
    return _core.Scene._from_parts(*parts)


_core.State.__reduce__ = lambda self: (make_state, (self.model, self.to_bytes()))  # type: ignore[method-assign]
_core.Scene.__reduce__ = lambda self: (make_scene, self._parts())  # type: ignore[method-assign]
