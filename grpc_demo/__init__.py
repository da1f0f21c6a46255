"""The real-network host; not part of this release yet."""
