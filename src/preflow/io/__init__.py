"""Files: problems, solutions and graphs as text, costs as text or NumPy arrays, networks as NumPy archives.

A malformed file always raises a :class:`~preflow.errors.ParseError` with the file, the line and what was
expected there. Files need not be trusted: nothing is unpickled, and sizes in a header are compared with the
file's content before anything is allocated. Writing never leaves half a file behind.
"""
