"""Files: DIMACS problems and solutions as text, networks as NumPy archives.

Reading never lets a malformed file through: what is wrong is a :class:`~preflow.errors.ParseError` with
the file, the line and what was expected there. Writing never leaves half a file behind.
"""
