"""What the command line does for Python: films, pages and the viewer, from recordings."""
from __future__ import annotations

import base64
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any


# What the package carries, where it was installed by pip.
_PACKAGED = os.path.join(os.path.dirname(__file__), "bin/capstan")


def find_program() -> str:
    """Path of the program capstan: $CAPSTAN, that of the package, or the one on PATH. Raises FileNotFoundError."""
    path = os.environ.get("CAPSTAN") or (_PACKAGED if os.path.exists(_PACKAGED) else shutil.which("capstan"))
    if not path or not os.path.exists(path):
        raise FileNotFoundError("the program capstan was not found; put it on PATH, or its path into the environment "
                                "variable CAPSTAN (after make build it is build/release/apps/capstan/capstan)")
    return path


def main() -> None:
    """The command `capstan` of an installed package: becomes the program that the package carries."""
    if not os.path.exists(_PACKAGED):
        sys.exit(f"capstan: this package was installed without its program, {_PACKAGED}; install it again")
    os.execv(_PACKAGED, [sys.argv[0], *sys.argv[1:]])


def export(recording: str | os.PathLike[str], out: str | os.PathLike[str], **options: Any) -> None:
    """Writes a recording in another form: .csv, .h5, .glb, .html, .png, .mp4 or .gif, by the name of `out`.

    Options are those of `capstan export` (docs/cli.md): from_, to [s], fps, width, height [px], view. Raises RuntimeError
    with what the program says.
    """
    arguments = [find_program(), "export", os.fspath(recording), os.fspath(out)]
    for name, value in options.items():
        arguments += ["--" + name.rstrip("_").replace("_", "-"), str(value)]
    result = subprocess.run(arguments, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip() or f"capstan export failed with code {result.returncode}")


def view(scene_or_recording: str | os.PathLike[str], *arguments: Any) -> subprocess.Popen[bytes]:
    """Starts the viewer, `capstan view`, which prints an address to open in a browser. Returns the process; end it with
    terminate()."""
    return subprocess.Popen([find_program(), "view", os.fspath(scene_or_recording), *map(str, arguments)])


class Replay:
    """A recording that a notebook shows as a film to play: Replay("run.capstan") as the last line of a cell."""

    def __init__(self, recording: str | os.PathLike[str], height: int = 480) -> None:
        self.path, self.height = pathlib.Path(recording), height

    def html(self) -> str:
        """The page, which needs nothing else."""
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "replay.html")
            export(self.path, page)
            with open(page, encoding="utf-8") as file:
                return file.read()

    def _repr_html_(self) -> str:
        page = base64.b64encode(self.html().encode()).decode()
        return (f'<iframe src="data:text/html;base64,{page}" width="100%" height="{int(self.height)}" '
                'style="border:0"></iframe>')
