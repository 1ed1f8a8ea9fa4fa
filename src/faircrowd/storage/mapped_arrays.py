"""Arrays that are files mapped into memory: how to release what was read of them."""

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["release"]


def release(*arrays: NDArray[Any]) -> None:
    """Give the pages of mapped arrays back to the system; when they are read again, they come from the file.

    Other arrays are left alone, and so are maps that can be written: what was written there may not be in the file yet.
    """
    if not hasattr(mmap, "MADV_DONTNEED"):  # no such advice on this system
        return
    for array in arrays:
        owner: Any = array
        while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
            owner = owner.base
        if array.size and isinstance(owner, np.memmap) and owner.mode == "r" and isinstance(owner.base, mmap.mmap):
            start = _address(array) - _address(np.frombuffer(owner.base, dtype=np.uint8))
            first = start - start % mmap.PAGESIZE
            owner.base.madvise(mmap.MADV_DONTNEED, first, start + array.nbytes - first)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
