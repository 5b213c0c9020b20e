"""Everything around the binary: set-up, private servers, data, the demo and the peers of benchmarks.

Only `machine` and `show` may be imported before the virtual environment exists; they use the
standard library alone.
"""
