"""How the compiled core is built; everything else about the package is in pyproject.toml."""

import gc
import hashlib
import os
import pathlib
import re
import sys

import Cython
from Cython.Build import cythonize
from Cython.Build.Dependencies import create_dependency_tree
from setuptools import Distribution, Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

CORE = pathlib.Path("river_okl/_core")
LOOPS = CORE / "loops"  # C alone: what the headers there say is compiled into the modules that include them
# Cython's own code, above all that of memoryviews, as one module instead of a copy in each: half of all the C.
SHARED = "_cython"
# Not -ffast-math, which breaks the exponential's argument reduction, and not -march=native: simd.h compiles the
# vector loops for each instruction set, and one is picked when they are imported. -g0 because Python's own flags have
# -g, which takes a third of the compiler's time.
FLAGS = ["/O2"] if sys.platform == "win32" else ["-g0", "-fno-math-errno", "-Wno-unused-function"]
# Most of an install is spent optimising code that a step runs a few times or never. Modules with loops over numbers get
# the full level (with -O2 OKL takes 1.05 to 1.4 of the time), those without them the lowest, the rest -O2.
LEVELS = {
    "-O3": {
        "batch", "calibration", "class_memory", "class_mixture", "class_trees", "detector", "diagonal", "distances",
        "error_trees", "latest", "linear", "memory", "mixture", "nearest", "pool", "posterior", "process", "processes",
        "scaled_points", "simd", "slopes", "stack", "table", "target_memory", "target_trees", "trees", "vote",
    },
    "-O1": {
        SHARED, "buffers", "choice", "compiled", "expert", "fourier", "gram", "lock", "protocol", "target_mixture",
        "words",
    },
}  # fmt: skip
# Bounds checks stay on: the hot loops are C on pointers, so they would gain nothing from turning them off.
DIRECTIVES = {
    "language_level": 3,
    "cdivision": True,
    "binding": False,  # methods as C has them: a tenth less to translate, and calls take up to 5 % less
    "embedsignature": True,
    "embedsignature.format": "python",
}
LINK = []
# For whoever looks for a bug in the core, as benchmarks/README.md shows: checks of every access to memory.
if os.environ.get("RIVER_OKL_BUILD") == "sanitize":
    # not optimised: that takes the compiler five times as long
    FLAGS = ["-O0", "-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-Wno-unused-function"]
    LINK = ["-fsanitize=address,undefined"]
elif os.environ.get("RIVER_OKL_BUILD") == "debug":
    FLAGS = ["-O0", "-g", "-UNDEBUG", "-Wno-unused-function"]
    DIRECTIVES |= {"boundscheck": True, "wraparound": False, "initializedcheck": True}


def with_included(path):
    """The bytes of a file, and of the headers that it includes in the end, by their paths."""
    text = pathlib.Path(path).read_bytes()
    found = {path: text}
    for name in re.findall(rb'^ *(?:#(?:include|define LOOPS)|cdef extern from) "(.+)"', text, re.M):
        header = LOOPS / name.decode()
        if header.exists():  # not so Python.h
            found |= with_included(str(header))
    return found


class BuildCore(build_ext):
    """Compiles the modules whose sources or settings are not those of their last build.

    By content, not by time stamps: each of pip's isolated builds has a Cython whose .pxd files were unpacked just now.
    """

    def run(self):
        given = self.build_lib, self.build_temp
        if self.editable_mode:  # setuptools gives it temporary folders, in which nothing would be found the next time
            kept = build(Distribution())
            kept.ensure_finalized()
            self.build_lib, self.build_temp = kept.build_platlib, kept.build_temp
        self.remove_stale()
        super().run()
        self.build_lib, self.build_temp = given

    def remove_stale(self):
        """What an older build left of modules that are gone: setuptools would install it."""
        built = pathlib.Path(self.build_lib, "river_okl")
        expected = {pathlib.Path(self.build_lib, self.get_ext_filename(each.name)) for each in self.extensions}
        for path in [path for path in built.rglob("*") if path.is_file() and path not in expected]:
            if path.suffix in (".so", ".pyd") or not path.relative_to(self.build_lib).exists():
                path.unlink()

    def build_extensions(self):
        everything, force = self.extensions, self.force
        self.digests = {extension.name: self.digest(extension) for extension in everything}
        self.extensions = [extension for extension in everything if force or not self.is_built(extension)]
        gc.disable()  # of Cython's trees, which live as long as their module: 0.4 of the time of translation
        translated = cythonize(
            self.extensions,
            nthreads=os.cpu_count(),
            force=True,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=f"river_okl._core.{SHARED}",
        )
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        self.force = True  # what is left is compiled whatever its time stamp
        super().build_extensions()
        self.extensions, self.force = everything, force

    def build_extension(self, extension):
        stamp = self.stamp(extension)
        stamp.unlink(missing_ok=True)  # what is interrupted is done again
        super().build_extension(extension)
        stamp.write_text(self.digests[extension.name], encoding="utf-8")

    def is_built(self, extension):
        """Whether a module is there, made of what it would be made of now."""
        stamp = self.stamp(extension)
        return (
            os.path.exists(self.get_ext_fullpath(extension.name))
            and stamp.exists()
            and stamp.read_text(encoding="utf-8") == self.digests[extension.name]
        )

    def stamp(self, extension):
        """Where the digest of what a module was made of is kept."""
        return pathlib.Path(self.build_temp, f"{extension.name}.sha256")

    def digest(self, extension):
        """Of the files that a module is made of, and of all settings."""
        found = {}
        for source in extension.sources:
            if source.endswith(".pyx"):
                for path in create_dependency_tree(quiet=True).all_dependencies(source):
                    if not os.path.isabs(path):  # Cython's own belong to its version
                        found |= with_included(path)
        settings = [Cython.__version__, DIRECTIVES, extension.extra_compile_args, extension.extra_link_args]
        settings += [getattr(self.compiler, name, None) for name in ("compiler_so", "linker_so")]  # with CC and CFLAGS
        return hashlib.sha256(repr((settings, sorted(found.items()))).encode()).hexdigest()


def level(source):
    """The options that say how much a module is optimised."""
    if "-g0" not in FLAGS:  # Windows, or a build to look for a bug in
        return []
    return next(([level] for level, names in LEVELS.items() if source.stem in names), ["-O2", "-ftree-vectorize"])


def extension(source):
    return Extension(
        ".".join(source.with_suffix("").parts),
        [source.as_posix()],
        include_dirs=[LOOPS.as_posix()],
        extra_compile_args=FLAGS + level(source),
        extra_link_args=LINK,
    )


if __name__ == "__main__":  # Cython's processes may import this file
    setup(
        ext_modules=[extension(source) for source in [*sorted(CORE.rglob("*.pyx")), CORE / f"{SHARED}.c"]],
        cmdclass={"build_ext": BuildCore},
        options={"build_ext": {"parallel": os.cpu_count()}},
    )
