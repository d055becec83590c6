"""Types of the choice of instruction set."""

SIMD_VARIANTS: tuple[str, ...]
SIMD: str
