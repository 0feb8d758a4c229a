"""Reads Capstan's recordings (.capstan) into numpy arrays. Needs numpy and nothing else.

    import capstan_recording
    run = capstan_recording.Recording("run.capstan")
    run.time                    # [s], a number for each frame
    run.q, run.v, run.control, run.activation   # a row for each frame, bit for bit as they were simulated
    run.numbers["energy.total"] # [J] (run.units tells), and all other numbers of a log
    run.contacts(5)             # of frame 5: a record array, see CONTACT

docs/recordings.md has an example; capstan/io/recording.h and recording_codec.cc describe the bytes.
"""
from __future__ import annotations

import os
import struct
import zlib
from typing import Any, Iterator

import numpy as np
import numpy.typing as npt

# One contact. point, normal (from a to b) and force (on b) are in the world frame, in m and N; region is 0 where the
# contact is open, 1 where it sticks, 2 where it slides; distance [m] is negative where the shapes overlap; area [m2] is that
# of the patch that the contact stands for, 0 for a point (and in recordings before version 7, which do not tell it).
CONTACT = np.dtype([
    ("shape_a", "<i4"), ("shape_b", "<i4"), ("region", "<i4"), ("point", "<f4", 3), ("normal", "<f4", 3),
    ("force", "<f4", 3), ("distance", "<f4"), ("area", "<f4"),
])
_WITHOUT_AREA = np.dtype(CONTACT.descr[:-1])

_CHUNK = struct.Struct("<4sIQQdQ")  # tag, frames, stored and raw bytes, time of the first frame, checksum
_MAX_RAW = 1 << 30


class RecordingError(ValueError):
    """The file is not a recording, or it is damaged."""


class Recording:
    """A run as arrays: Recording("run.capstan"). Each has a row for each frame; numbers have every bit that was simulated.

    path      of the file
    scene     name of the scene; `file` where it was read from; `yaml` all of it, with meshes called mesh1, mesh2, ...
    version   of the program that recorded
    dt        [s] of a step; `duration` [s] that the run was to last
    meshes    list of (vertices [n, 3], triangles [m, 3])
    time      [s], [frames]; `step` the number of steps taken
    hash      of each state, as 'capstan replay' compares them
    q, v      [frames, positions], [frames, dofs]
    a         [frames, dofs], acceleration in the step that led to a frame
    control   [frames, actuators]; `activation` the same, or [frames, 0] where no actuator has one
    asleep    [frames, objects], bool: trees, then rods and soft bodies; no objects where the run let nothing sleep
    numbers   {name: [frames]}, what a log has, such as "energy.total"; `units` {name: text}
    complete  False: the run was killed, or the file cut off

    What a killed run left is read as far as it goes.

    >>> run = capstan.record("stack", "stack.capstan", 0.1)
    >>> capstan.Recording("stack.capstan").q.shape == (11, run.q.shape[1])
    True
    """

    path: str
    scene: str
    file: str
    yaml: str
    version: str
    dt: float
    duration: float
    meshes: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]]
    time: npt.NDArray[np.float64]
    step: npt.NDArray[np.int64]
    hash: npt.NDArray[np.uint64]
    q: npt.NDArray[np.float64]
    v: npt.NDArray[np.float64]
    a: npt.NDArray[np.float64]
    control: npt.NDArray[np.float64]
    activation: npt.NDArray[np.float64]
    asleep: npt.NDArray[np.bool_]
    numbers: dict[str, npt.NDArray[np.float64]]
    units: dict[str, str]
    complete: bool
    _contacts: npt.NDArray[np.void]
    _begin: npt.NDArray[np.int64]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with open(path, "rb") as file:
            data = file.read()
        if data[:8] == b"\x89HDF\r\n\x1a\n":
            raise RecordingError(f"{path}: this is an HDF5 file; h5py reads it (docs/recordings.md)")
        if data[:8] != b"CAPSREC1":
            raise RecordingError(f"{path}: this is not a recording that 'capstan run --record' wrote")
        try:
            self.__dict__.update(_read(str(path), data))
        except RecordingError as error:
            raise RecordingError(f"{path}: {error}") from None

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return f"<capstan.Recording of '{self.scene}': {len(self)} frames to t = {self.time[-1]:g} s>"

    def contacts(self, frame: int) -> npt.NDArray[np.void]:
        """The contacts of the step that led to a frame: records of dtype CONTACT, which says fields and units, shape [contacts]."""
        frame = range(len(self))[frame]
        return self._contacts[self._begin[frame]:self._begin[frame + 1]]


class _In:
    """Reads from bytes; what is not there is an error."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if count < 0 or count > len(self.data) - self.at:
            raise RecordingError("a part of it ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def count(self) -> int:
        return int(self.unpack("<Q")[0])

    def text(self) -> str:
        return self.take(self.count()).decode("utf-8", "replace")

    def array(self, kind: Any, count: int) -> npt.NDArray[Any]:
        kind = np.dtype(kind)
        return np.frombuffer(self.take(kind.itemsize * count), kind)


def _join_planes(data: bytes, kind: Any) -> tuple[bytes, np.dtype[Any]]:
    """Bytes of equal rank stand together: byte b of word w is at b * words + w."""
    kind = np.dtype(kind)
    return np.frombuffer(data, np.uint8).reshape(kind.itemsize, -1).T.tobytes(), kind


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """(tag, number of frames, raw bytes) of each whole chunk; ends where the file does."""
    at = 8
    while at + _CHUNK.size <= len(data):
        tag, frames, stored, raw, _, _ = _CHUNK.unpack_from(data, at)
        at += _CHUNK.size
        if tag not in (b"HEAD", b"FRMS", b"INDX"):
            return
        if stored > len(data) - at or raw > _MAX_RAW:
            return
        try:
            content = zlib.decompress(data[at:at + stored], bufsize=raw or 1)
        except zlib.error as error:
            raise RecordingError(f"its {tag.decode()} chunk at byte {at} is damaged: {error}") from None
        if len(content) != raw:
            raise RecordingError(f"its {tag.decode()} chunk at byte {at} is damaged")
        yield tag, frames, content
        at += stored


def _read_header(content: bytes) -> tuple[dict[str, Any], tuple[int, ...], np.dtype[np.void]]:
    data = _In(content)
    (version,) = data.unpack("<I")
    if not 4 <= version <= 10:
        raise RecordingError(f"it is of version {version}; this reader knows versions 4 to 10")
    head: dict[str, Any] = dict(zip(("scene", "file", "version", "yaml"), [data.text() for _ in range(4)]))
    data.unpack("<Q")  # fingerprint of the model
    head["dt"], *_, head["duration"] = data.unpack("<9d")
    if version >= 5:
        data.unpack("<d")  # speed at which errors of position are undone
    *_, num_q, num_v, num_control, num_rest = data.unpack("<10i")
    columns = [[data.text() for _ in range(3)] for _ in range(data.count())]
    head["units"] = {name: unit for _, name, unit in columns}
    head["meshes"] = []
    for _ in range(data.count()):
        vertices = data.array("<f8", 3 * data.count()).reshape(-1, 3)
        head["meshes"].append((vertices, data.array("<i4", 3 * data.count()).reshape(-1, 3)))
    sizes = (num_q, num_v, num_v, num_control, num_control if version >= 9 else 0, len(columns), 1 + 2 * num_rest if num_rest > 0 else 0)
    return head, sizes, CONTACT if version >= 7 else _WITHOUT_AREA


def _read_frames(content: bytes, width: int, contact: np.dtype[np.void]) -> tuple[npt.NDArray[Any], ...]:
    """Words [frames, width] as 64 bits each, contacts of all frames, and their counts."""
    data = _In(content)
    n = data.count()
    counts = data.array("<u4", 2 * n).reshape(-1, 2)[:, 0]
    words, kind = _join_planes(data.take(8 * n * width), "<u8")
    changes = np.frombuffer(words, kind).reshape(width, n)  # a word is xor-ed with that of the frame before
    told, kind = _join_planes(data.take(contact.itemsize * int(counts.sum())), contact)
    contacts = np.frombuffer(told, kind)
    whole = np.zeros(len(contacts), CONTACT)
    for name in contact.names or ():
        whole[name] = contacts[name]
    return np.bitwise_xor.accumulate(changes, axis=1).T, whole, counts


def read(path: str | os.PathLike[str]) -> Recording:
    """The same as Recording(path)."""
    return Recording(path)


def _read(path: str, data: bytes) -> dict[str, Any]:
    chunks = _chunks(data)
    tag, _, content = next(chunks, (b"", 0, b""))
    if tag != b"HEAD":
        raise RecordingError("it has no header")
    head, sizes, contact = _read_header(content)
    width = 3 + sum(sizes)
    parts_of_words: list[npt.NDArray[Any]] = []
    contacts: list[npt.NDArray[Any]] = []
    counts: list[npt.NDArray[Any]] = []
    complete = False
    for tag, _, content in chunks:
        if tag == b"FRMS":
            for whole, part in zip((parts_of_words, contacts, counts), _read_frames(content, width, contact)):
                whole.append(part)
        complete = complete or tag == b"INDX"
    if not parts_of_words:
        raise RecordingError("it has no frames: the run ended before its first state was written")
    words = np.concatenate(parts_of_words)
    ends = np.cumsum([0, *sizes]) + 3
    parts = [np.ascontiguousarray(words[:, a:b]).view("<f8") for a, b in zip(ends[:6], ends[1:])]
    islands = words[:, ends[6] + 1:ends[7]:2] & 0xffffffff  # -1: awake

    def column(i: int, kind: str) -> npt.NDArray[Any]:
        return np.ascontiguousarray(words[:, i]).view(kind)

    return dict(
        path=path, **head, time=column(0, "<f8"), step=column(1, "<i8"), hash=column(2, "<u8"), q=parts[0], v=parts[1],
        a=parts[2], control=parts[3], activation=parts[4], asleep=islands < 1 << 31,
        numbers={name: parts[5][:, i] for i, name in enumerate(head["units"])}, complete=complete,
        _contacts=np.concatenate(contacts), _begin=np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=np.int64)]))
