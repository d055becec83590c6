"""One script for each paper: ``python -m benchmarks.papers.ahpatron`` and so on; ``--help`` shows the options."""
