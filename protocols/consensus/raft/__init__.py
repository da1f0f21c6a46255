"""Raft, chapter by chapter; begin with :mod:`protocols.consensus.raft.server`."""
