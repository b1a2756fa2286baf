"""A plugin of napari: seeds painted on a Labels layer, and their cut as another one. See ``napari.yaml``."""
