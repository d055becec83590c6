"""The command ``python -m river_okl``.

command.py    options, the table, JSON and the progress bar
files.py      CSV and libsvm files, and what is wrong with them
lookup.py     what a user writes, as data sets and models
mistakes.py   what a user got wrong, in one line
race.py       models predict and learn the same stream
plot.py       pictures of races and of models
"""
