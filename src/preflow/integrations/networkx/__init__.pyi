from .flow_func import residual

__all__ = ["residual"]
