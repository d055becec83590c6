"""``python -m river_okl``: a race of models on a stream.

command.py   options, errors and exit codes
models.py    models and metrics by name
race.py      test-then-train of several models on one stream
report.py    the table of results
"""
