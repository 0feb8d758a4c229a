"""The viewer of a simulation that this program steps."""


class View:
    """A viewer that shows a simulation while this program steps it: sim.view(). Its address is `url`; a notebook shows it
    in a frame. It lives as long as the simulation, or until close()."""

    def __init__(self, simulation, url):
        self._simulation, self.url = simulation, url

    def close(self):
        """Ends the viewer."""
        self._simulation._close_view()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _repr_html_(self):
        return f'<iframe src="{self.url}" width="100%" height="480" style="border:0"></iframe>'

    def __repr__(self):
        return f"<capstan.View at {self.url}>"
