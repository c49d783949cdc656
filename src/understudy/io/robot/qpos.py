"""Plain `qpos`, MuJoCo's coordinates, as an array: rows of root position, root quaternion and joint values."""

from __future__ import annotations

import io
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError
from understudy.io.clip import Clip, ReadOptions, WriteOptions
from understudy.io.robot.tracking import tracking_arrays
from understudy.io.robot.trajectory import MAX_FILE_BYTES, lost, read_rows


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a motion together with its robot's file. The array does not say its rate and orders."""
    data = stream.read(MAX_FILE_BYTES + 1)
    try:
        values = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError, OverflowError) as error:
        raise FileError(name, None, f"is no array of numbers: {str(error)[:200]}") from None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu" or values.ndim != 2 or values.shape[1] < 8:
        raise FileError(name, None, "expected rows of root position, quaternion and joint values")
    return read_rows(values.astype(float), name, options, kind="qpos", title="A bare `qpos`", order="wxyz")


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write the coordinates alone; returns what the format could not hold."""
    arrays = tracking_arrays(clip, "qpos", options)
    np.save(stream, arrays["qpos"], allow_pickle=False)
    orders = f"{arrays['quaternion_order']}, joints in {arrays['joint_order']} order"
    stated = f"The rate ({float(arrays['fps'][0]):g} frames per second) and what the columns are: {orders}."
    return (*lost(clip, clip.skeleton), stated)
