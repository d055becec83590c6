"""Tables: CSV files in which every cell is text, and models that know what the cells mean.

cells.py      cells as numbers, dates, strings and missing values
columns.py    the kind of a column, inferred from its cells, and the task, inferred from the target
schema.py     the columns and the target of a file, by which other rows are read, too
models.py     a model with the schema of the file that it was trained on; numeric encoding of strings and dates
"""
