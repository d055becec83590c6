"""The command ``python -m river_okl``.

command.py    options, the table and JSON
lookup.py     what a user writes, as data sets and models
race.py       models predict and learn the same stream
plot.py       pictures of races and of models
"""
