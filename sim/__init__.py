"""The simulator: runs processes on a deterministic SimPy clock and judges what happened."""
