"""Computer vision as minimum cuts: segment images and volumes, take noise away, find depth and motion.

All that works on arrays needs nothing but NumPy and SciPy; reading and writing files of images and volumes
needs the extra ``preflow[vision]``. A name of ``__init__.pyi`` is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
