"""The sweep as code that Numba compiles, and the elementary functions that it and the solvers' kernels share."""
