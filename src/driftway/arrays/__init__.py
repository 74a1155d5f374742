"""What comes in: checks of arguments, arrays of other libraries, rows that live elsewhere."""
