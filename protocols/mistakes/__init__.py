"""Known-wrong variants of the protocols: each repeats a bug that real software has had.

They are for tools and tests to catch, never to use. Each is a short subclass of the right one and
names the public bug of its kind.
"""
