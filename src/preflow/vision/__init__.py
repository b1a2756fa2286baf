"""Computer vision by minimum cuts: segment and denoise images and volumes, find depth and motion.

Functions on arrays need NumPy and SciPy only; reading and writing files of images and volumes needs the extra
``preflow[vision]``. A name of ``__init__.pyi`` is loaded when it is first used.
"""

from ..lazy import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
