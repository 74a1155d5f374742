"""`python -m benchmarks.drift`."""

from benchmarks.drift.run import main

if __name__ == "__main__":
    main()
