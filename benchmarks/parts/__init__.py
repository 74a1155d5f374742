"""The parts of the benchmark. Each has `run(scale)`, which measures, and `read(data)`, which says what it means."""
