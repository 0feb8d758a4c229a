"""The viewer of a simulation that this program steps."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._simulation import Simulation


class View:
    """A viewer that shows a simulation while this program steps it: sim.view(). Its address is `url`; a notebook shows it
    in a frame. It lives as long as the simulation, or until close()."""

    def __init__(self, simulation: Simulation, url: str) -> None:
        self._simulation, self.url = simulation, url

    def close(self) -> None:
        """Ends the viewer."""
        self._simulation._close_view()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="480" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<capstan.View at {self.url}>"
