"""Pictures of results, drawn with Matplotlib, which is loaded when the first picture is drawn.

The functions take plain arrays. The method `plot` of each result calls one of them.
"""
