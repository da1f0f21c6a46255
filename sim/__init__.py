"""The simulator: runs protocol processes on a deterministic SimPy clock and judges what happened."""
