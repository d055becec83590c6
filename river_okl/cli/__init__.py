"""The command ``python -m river_okl``.

command.py    options, the table and JSON
lookup.py     arguments as data sets and models
race.py       test-then-train of several models on one stream
plot.py       learning curves and decision surfaces
"""
