"""Files as streams of samples, and models that know the file that they were trained on.

stream.py     a file as a stream: options, the task that its target stands for, libsvm
table.py      tables as streams: CSV, Parquet and JSON
query.py      a file as DuckDB sees it
texts.py      which columns of text have numbers or dates
models.py     the schema of a file, models with one, and the encoding of strings and dates as numbers
"""
