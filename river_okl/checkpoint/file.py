"""The bytes of a checkpoint, written to disk and read back.

All numbers are little-endian::

    8 bytes      \\x89 O K L \\r \\n \\x1a \\n, which a transfer in text mode would corrupt
    uint32       version of the format
    uint64 × 2   bytes of the document, bytes of the arrays
    32 bytes     SHA-256 of everything else
    document     JSON: the model, and type and length of each array
    arrays       the numbers, one array after another
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import stat
import struct
from collections.abc import Iterator
from typing import IO, Any, BinaryIO, NoReturn

from numpy.typing import NDArray

import river_okl

MAGIC = b"\x89OKL\r\n\x1a\n"
VERSION = 6
EARLIEST = 5  # that of 0.5; 1 to 3 were those of versions 0.2 to 0.4, 4 was never released
HEADER = struct.Struct("<8sIQQ32s")

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class CheckpointError(ValueError):
    """A model that cannot be saved in a checkpoint, or a file that is no checkpoint, damaged, truncated or too new."""


def damaged(what: str) -> CheckpointError:
    """Return the error for a file whose checksum matches but whose contents are invalid."""
    return CheckpointError(f"damaged or written by hand: {' '.join(what.split()):.300}")


# Bytes ------------------------------------------------------------------------------------------------------------


def pack(document: dict[str, Any], arrays: list[NDArray[Any]]) -> bytes:
    """Return the bytes of a document and its arrays."""
    document = {**document, "arrays": [[array.dtype.str, array.size] for array in arrays]}
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
    numbers = b"".join(array.tobytes() for array in arrays)
    head = HEADER.pack(MAGIC, VERSION, len(text), len(numbers), bytes(32))
    return HEADER.pack(MAGIC, VERSION, len(text), len(numbers), _digest(head, text + numbers)) + text + numbers


def unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the document, and the bytes of the arrays."""
    head, body = data[: HEADER.size], data[HEADER.size :]
    n_document, n_arrays, digest = _fields(head)
    size = n_document + n_arrays
    if len(body) != size:
        what = "truncated" if len(body) < size else "damaged"
        raise CheckpointError(f"{what}: {len(body):,} bytes instead of {size:,}")
    if _digest(head, body) != digest:
        raise CheckpointError("damaged: its checksum does not match its contents")
    try:
        document = json.loads(body[:n_document].decode("ascii"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise damaged(str(error)) from error
    if type(document) is not dict:
        raise damaged("its document is not an object")
    return document, body[n_document:]


def _fields(head: bytes) -> tuple[int, int, bytes]:
    """Return the bytes of the document and of the arrays, and the digest, from a header of this version."""
    if head[: len(MAGIC)] != MAGIC[: len(head)]:
        raise CheckpointError("not a checkpoint of river_okl")
    if len(head) < HEADER.size:
        raise CheckpointError(f"truncated: it ends after {len(head)} bytes")
    _, version, n_document, n_arrays, digest = HEADER.unpack(head)
    if version > VERSION:
        raise CheckpointError(
            f"format {version}, and this river_okl ({river_okl.__version__}) reads format {VERSION}: upgrade it"
        )
    if version < EARLIEST:
        raise CheckpointError(
            f"format {version}, of an earlier version, and this river_okl ({river_okl.__version__}) reads formats "
            f"{EARLIEST} to {VERSION}: load it with the version that saved it"
        )
    return n_document, n_arrays, digest


def _digest(head: bytes, body: bytes) -> bytes:
    return hashlib.sha256(head[: -hashlib.sha256().digest_size] + body).digest()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


# The disk ---------------------------------------------------------------------------------------------------------


def read_file(name: str) -> bytes:
    """Return all bytes of a checkpoint; of another file only as many as are needed to recognise it."""
    with open(name, "rb") as file:
        head = file.read(HEADER.size)
        _fields(head)  # raises
        return head + file.read()


def read_all(file: IO[bytes], name: str) -> bytes:
    """Return all bytes of an open file, which may return them in parts."""
    found = bytearray()
    while True:
        part = file.read()
        if not isinstance(part, bytes | bytearray | memoryview):
            raise TypeError(f"{name} is open as text; open it in binary mode, 'rb'")
        if not part:
            return bytes(found)
        found += part


def write_all(data: bytes, file: IO[bytes]) -> None:
    """Write all bytes to an open file, which may accept them in parts."""
    rest = memoryview(data)
    while rest:
        try:
            n = file.write(rest)
        except TypeError:
            raise TypeError(f"{file!r:.100} is open as text; open it in binary mode, 'wb'") from None
        rest = rest[len(rest) if n is None else n :]


def write_file(data: bytes, name: str) -> None:
    """Write a file that is complete or does not exist, even after a power failure."""
    with replacing(name) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(name: str) -> Iterator[BinaryIO]:
    """Yield a new file that replaces the file of this name at the end, unless an error was raised."""
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".okl-{secrets.token_hex(8)}.tmp")
    try:
        with _new(temporary, _replaced(target)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in (temporary, target):
            error.filename = name  # the path that the user gave
            del error.filename2  # otherwise the message would include None
        raise
    if os.name == "posix":  # flush the new directory entry to disk, too
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _replaced(target: str) -> os.stat_result | None:
    """Return the status of the file that will be replaced."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if not stat.S_ISREG(found.st_mode):  # /dev/stdout must not become a file
        raise OSError(errno.EINVAL, "not a regular file", target)
    return found


def _new(path: str, replaced: os.stat_result | None) -> BinaryIO:
    """Create a file that only its writer can access until it has the mode of the file it replaces."""
    mode = 0o666 if replaced is None else 0o600
    file = open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115 - the caller closes it
    if replaced is not None:
        if os.name == "posix":
            for owner, group in ((-1, replaced.st_gid), (replaced.st_uid, -1)):
                with contextlib.suppress(OSError):
                    os.chown(path, owner, group)
        os.chmod(path, stat.S_IMODE(replaced.st_mode))
    return file
