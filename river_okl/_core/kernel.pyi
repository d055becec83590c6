"""Types of the compiled kernels."""

Factor = tuple[int, int, float, float, float]
Term = tuple[float, tuple[Factor, ...]]

SIMD_VARIANTS: tuple[str, ...]
SIMD: str
FACTOR_KINDS: tuple[int, int, int]
MOST_TERMS: int
MOST_FACTORS: int

class Kernel:
    @property
    def terms(self) -> tuple[Term, ...]: ...
    @property
    def gammas(self) -> tuple[float, ...]: ...
    @property
    def n_factors(self) -> int: ...
    @property
    def constant_self_similarity(self) -> float | None: ...
    @property
    def mean_distance(self) -> float: ...
    @property
    def mean_square(self) -> float: ...
    def __init__(self, terms: tuple[Term, ...]) -> None: ...
