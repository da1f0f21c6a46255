"""Scenarios, reproductions and the ``splitbrain`` command line."""
