"""Pictures in pixels."""
import dataclasses
import os
import struct
import zlib

import numpy as np


@dataclasses.dataclass
class Image:
    """What a camera sees: sim.image(). A notebook shows it; np.asarray(image) is its rgb."""
    rgb: np.ndarray
    """Colours, uint8, shape [height, width, 3]."""
    depth: np.ndarray
    """[m] along the camera's axis, float32, shape [height, width]; infinite where nothing is."""
    shapes: np.ndarray
    """Number of the shape that is seen (model.shape_names, model.shape_bodies), int32, shape [height, width]; -1 where
    nothing is."""

    def to_png(self):
        """The colours as bytes of a PNG file."""
        height, width, _ = self.rgb.shape
        rows = np.zeros((height, 1 + 3 * width), np.uint8)  # the first byte of a row: no filter
        rows[:, 1:] = self.rgb.reshape(height, -1)
        chunk = lambda tag, data: (struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data)))
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + chunk(b"IEND", b""))

    def save(self, path):
        """Writes a PNG file."""
        name = os.fspath(path)
        ending = os.path.splitext(name)[1]
        if ending.lower() not in ("", ".png"):
            raise ValueError(f"'{name}' would be a PNG file with the name of another kind; write a .png, or convert `rgb`")
        with open(path, "wb") as file:
            file.write(self.to_png())

    def _repr_png_(self):
        return self.to_png()

    def __array__(self, dtype=None, copy=None):
        return np.array(self.rgb, dtype=dtype, copy=True if copy else None) if dtype is not None or copy else self.rgb

    def __repr__(self):
        return f"<capstan.Image: {self.rgb.shape[1]} x {self.rgb.shape[0]}>"
