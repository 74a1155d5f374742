"""Input: checks of arguments, arrays of other libraries, rows that live on a cluster."""
