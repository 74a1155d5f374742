"""Files of rows and columns: CSV, Parquet and NPZ, read strictly and written as a whole or not at all."""

from driftway.files.errors import TableError, in_short
from driftway.files.reading import FORMATS, Columns, Table, format_of, read_content, read_table
from driftway.files.writing import append_row, write_table

__all__ = [
    "FORMATS",
    "Columns",
    "Table",
    "TableError",
    "append_row",
    "format_of",
    "in_short",
    "read_content",
    "read_table",
    "write_table",
]
