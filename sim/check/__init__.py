"""Checkers: judge what a run did, from plain records, never from live objects."""
