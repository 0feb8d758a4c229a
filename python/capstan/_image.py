"""Pictures in pixels."""
from __future__ import annotations

import dataclasses
import os
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclasses.dataclass
class Image:
    """What a camera sees: sim.image(). A notebook shows it; np.asarray(image) is its rgb.

    >>> image = capstan.load("stack").image(64, 48)
    >>> image.rgb.shape, image.depth.shape
    ((48, 64, 3), (48, 64))
    """
    rgb: npt.NDArray[np.uint8]
    """Colours, uint8, shape [height, width, 3]."""
    depth: npt.NDArray[np.float32]
    """[m] along the camera's axis, float32, shape [height, width]; infinite where nothing is."""
    shapes: npt.NDArray[np.int32]
    """Number of the shape that is seen (model.shape_names, model.shape_bodies), int32, shape [height, width]; -1 where
    nothing is."""

    def to_png(self) -> bytes:
        """The colours as bytes of a PNG file."""
        height, width, _ = self.rgb.shape
        rows = np.zeros((height, 1 + 3 * width), np.uint8)  # the first byte of a row: no filter
        rows[:, 1:] = self.rgb.reshape(height, -1)

        def chunk(tag: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))

        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + chunk(b"IEND", b""))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a PNG file."""
        name = os.fspath(path)
        ending = os.path.splitext(name)[1]
        if ending.lower() not in ("", ".png"):
            raise ValueError(f"'{name}' would be a PNG file with the name of another kind; write a .png, or convert `rgb`")
        with open(path, "wb") as file:
            file.write(self.to_png())

    def _repr_png_(self) -> bytes:
        return self.to_png()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.rgb, dtype=dtype, copy=True if copy else None) if dtype is not None or copy else self.rgb

    def __repr__(self) -> str:
        return f"<capstan.Image: {self.rgb.shape[1]} x {self.rgb.shape[0]}>"
