"""Traces and histories in the formats of other people's tools."""
