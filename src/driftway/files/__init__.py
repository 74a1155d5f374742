"""Tables in CSV, Parquet and NPZ files: strict reading, atomic writing."""

from driftway.files.errors import TableError
from driftway.files.reading import FORMATS, Columns, Table, format_of, read_content, read_table
from driftway.files.writing import append_row, write_table

__all__ = [
    "FORMATS",
    "Columns",
    "Table",
    "TableError",
    "append_row",
    "format_of",
    "read_content",
    "read_table",
    "write_table",
]
