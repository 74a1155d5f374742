"""A frozen set of 40 problems and 10 streams, to compare what two versions of the code make of them."""
