"""Strings and gaps of samples as indicator features: which strings become features, and under which key.

A word is a string, or a gap (None), under a feature name.  Its indicator, present in samples with the word
and absent from others, is the feature ``("=", name, word)``, a key like any other name in points, scaler,
states and checkpoints.

A word becomes a feature the second time that it is learned.  Of a word seen once only a hash of 8 bytes is stored, in a
table of fixed size in which the newest hash replaces the oldest of its set, so that identifiers that never recur cost
neither memory nor time.  The hash depends on the word alone, not on the process.
"""


import numpy as np

from river_okl._core.store.buffers cimport viewed
from river_okl._core.store.sample cimport canonical, is_word

cdef extern from "Python.h":
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    int PyUnicode_KIND(object text)
    unsigned int PyUnicode_READ(int kind, void *data, Py_ssize_t i)

cdef enum:
    SETS = 512
    WAYS = 8        # a set is a cache line

MAX_WORDS = SETS * WAYS

cdef uint64_t GAP = 0x9E3779B97F4A7C15
cdef uint64_t BASIS = 0xCBF29CE484222325


cdef uint64_t mixed(uint64_t seed, str text) noexcept:
    """Return the FNV-1a hash of the characters."""
    cdef void *data = PyUnicode_DATA(text)
    cdef int kind = PyUnicode_KIND(text)
    cdef Py_ssize_t i
    for i in range(PyUnicode_GET_LENGTH(text)):  # not its bytes: "ab" and a CJK character may have the same bytes
        seed = (seed ^ PyUnicode_READ(kind, data, i)) * <uint64_t> 0x100000001B3
    return seed


cdef uint64_t hash_of_name(object name) except? 0:
    """Return a hash of a feature's name, the same for equal names and in all processes."""
    if type(name) is not str:
        name = canonical(name)
    if type(name) is str:
        return mixed(BASIS, name)
    try:
        text = repr(name) if type(name).__repr__ is not object.__repr__ else None  # that one has the address
    except Exception:  # a name of the user's own type
        text = None
    if text is None:
        text = f"hash {hash(name)}"
    return mixed(BASIS ^ GAP, text)  # 1 is another name than "1"


cdef uint64_t hash_of_word(object name, object word) except? 0:
    """Return a hash of a string, or None for a gap, under this name; never 0."""
    cdef uint64_t found = hash_of_name(name) * GAP
    found = found ^ GAP if word is None else mixed(found, word)
    return (found ^ (found >> 32)) * GAP | 1


def named(features):
    """Return a dict of features with words under readable names: ``colour=red``, and ``colour=None`` for a gap.

    If a readable name is already taken, the word's name is (name, word), or as a last resort its key.
    """
    found = {key: value for key, value in features.items() if not is_word(key)}
    if len(found) < len(features):
        for key, value in features.items():
            if is_word(key):
                names = f"{key[1]}={key[2]}", key[1:], key
                found[next(name for name in names if name not in found)] = value
    return found


cdef class Words(Owner):
    """The words among the features of a model."""

    def __init__(self):
        self.keys = {}
        self.fresh = []

    cdef void begin(self) noexcept:
        """Start encoding another sample."""
        self.n_unknown = 0
        self.rest = 0
        if self.fresh:
            self.fresh = []

    cdef object find(self, object name, object word):
        """Return the key of a word of the current sample, or None if the word is not a feature (yet)."""
        cdef uint64_t found
        cdef Py_ssize_t i
        words = self.keys.get(name)
        if words is not None:
            key = words.get(word)
            if key is not None:
                return key
        found = hash_of_word(name, word)
        if self.once != NULL:
            for i in range(WAYS):
                if self.once[of_set(<int64_t> found) + i] == <int64_t> found:
                    key = ("=", name, word)
                    self.fresh.append(key)
                    return key
        if self.n_unknown == self.allocated:
            i = max(8, 2 * self.allocated)
            self.unknown = <int64_t *> self.resize(self.unknown, self.allocated, i, 8)
            self.allocated = i
        self.unknown[self.n_unknown] = <int64_t> found
        self.n_unknown += 1
        self.rest += found
        return None

    cdef int learn(self) except -1:
        """Count the words of the last encoded sample."""
        cdef Py_ssize_t i
        if self.n_unknown and self.once == NULL:
            self.once = <int64_t *> self.resize(NULL, 0, SETS * WAYS, 8)
        for i in range(self.n_unknown):
            self.count(self.unknown[i])
        self.n_unknown = 0
        return 0

    cdef void count(self, int64_t found) noexcept:
        """Store the hash of a word seen once."""
        cdef int64_t *ways = self.once + of_set(found)
        cdef Py_ssize_t i
        for i in range(WAYS - 1, 0, -1):
            ways[i] = ways[i - 1]
        ways[0] = found

    cdef int register(self, list keys) except -1:
        """Register the words among new features."""
        for key in keys:
            if is_word(key):
                self.keys.setdefault(key[1], {})[key[2]] = key
        self.fresh = []
        return 0

    cdef int register_all(self, dict index) except -1:
        """Register the words among all features, and no others."""
        self.keys = {}
        return self.register(list(index))

    def state(self):
        """Return the words seen once, for ``restore``; words that are features are among the names."""
        size = 0 if self.once == NULL else SETS * WAYS
        found = viewed(self.once, size, np.dtype(np.int64)).reshape(-1, WAYS)[:, ::-1]
        return found[found != 0]

    def restore(self, seen_once):
        """Resume from a state; call ``register_all`` afterwards."""
        if not isinstance(seen_once, np.ndarray) or seen_once.dtype != np.int64 or seen_once.ndim != 1:
            raise ValueError("the words seen once are not an array of hashes")
        if seen_once.size > SETS * WAYS or not seen_once.all():
            raise ValueError("the words seen once are out of range")
        if seen_once.size and self.once == NULL:
            self.once = <int64_t *> self.resize(NULL, 0, SETS * WAYS, 8)
        for each in seen_once.tolist():
            self.count(each)


cdef inline Py_ssize_t of_set(int64_t found) noexcept nogil:
    """Return the start of the set of a hash."""
    return <Py_ssize_t> ((<uint64_t> found >> 40) % SETS) * WAYS
