"""A disk that notes every write and every flush: a FUSE file system with the files `disk` and `mark`.

`disk` is what a loop device is made of. What is written to `mark` is noted among the writes, so that
a test can say what it knew at that moment. The record is a file of entries: one letter, an offset and
a length (little-endian, 8 and 4 bytes), and the bytes of a write or mark.

Started as `python -m pelorus_tools.recorded_disk MOUNTPOINT FOLDER BYTES`; FOLDER gets `record` and
`content`. It ends when MOUNTPOINT is unmounted.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

WRITE, FLUSH, MARK = b"W", b"F", b"M"
HEAD = struct.Struct("<cQI")


@dataclass
class Entry:
    """Something that the disk was told; `at` is where its bytes begin in the record."""

    what: bytes
    offset: int
    length: int
    at: int


def entries(record: Path) -> Iterator[Entry]:
    """What the disk was told, in order."""
    with open(record, "rb") as file:
        while len(head := file.read(HEAD.size)) == HEAD.size:
            what, offset, length = HEAD.unpack(head)
            yield Entry(what, offset, length, file.tell())
            file.seek(length, os.SEEK_CUR)


def main() -> None:
    """Serves the file system until it is unmounted."""
    import mfusepy

    mountpoint, folder, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    record = open(folder / "record", "wb", buffering=1 << 20)
    content = os.open(folder / "content", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.ftruncate(content, size)

    def note(what: bytes, offset: int = 0, data: bytes = b"") -> None:
        record.write(HEAD.pack(what, offset, len(data)))
        record.write(data)

    class Disk(mfusepy.Operations):
        """The two files."""

        use_ns = True

        def getattr(self, path, fh=None):
            if path == "/":
                return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2}
            if path not in ("/disk", "/mark"):
                raise mfusepy.FuseOSError(errno.ENOENT)
            length = size if path == "/disk" else 0
            return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": length}

        def readdir(self, path, fh):
            return [".", "..", "disk", "mark"]

        def open(self, path, fi):
            fi.direct_io = 1
            return 0

        def read(self, path, length, offset, fi):
            return os.pread(content, length, offset)

        def write(self, path, data, offset, fi):
            if path == "/disk":
                note(WRITE, offset, data)
                os.pwrite(content, data, offset)
            else:
                note(MARK, 0, data)
            return len(data)

        def fsync(self, path, datasync, fi):
            if path == "/disk":
                note(FLUSH)
            return 0

        def truncate(self, path, length, fh=None):
            return 0

        def destroy(self, path):
            record.close()

    mfusepy.FUSE(Disk(), mountpoint, foreground=True, nothreads=True, raw_fi=True)


if __name__ == "__main__":
    main()
