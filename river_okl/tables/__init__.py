"""Tables: CSV files in which every cell is text, and models that know what the cells mean.

cells.py      texts as numbers, dates, strings and gaps
columns.py    what kind of column its cells make, and the task that a target means
schema.py     the columns and the target of a file, with which other rows are read, too
models.py     a model with the schema of the file that it was trained on; numeric encoding of strings and dates
"""
