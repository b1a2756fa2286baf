"""Computer vision by minimum cuts: segment and denoise images and volumes, find depth and motion.

Functions on arrays need NumPy and SciPy only; reading and writing files of images and volumes needs the extra
``preflow[vision]``. A name of ``__init__.pyi`` is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
