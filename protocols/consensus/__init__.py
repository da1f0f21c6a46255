"""Consensus: many nodes agree on one sequence of commands although some of them crash."""
