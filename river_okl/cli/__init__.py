"""The command ``python -m river_okl``.

command.py    options, help and errors
job.py        the run, from options to results
lookup.py     arguments as data sets and models
metrics.py    arguments as metrics that suit the task
race.py       test-then-train of several models on one stream
outputs.py    output files: which ones may be replaced; predictions and models
report.py     the table and JSON
plot.py       learning curves and decision surfaces
"""
