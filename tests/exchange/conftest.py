from proxies import proxy

__all__ = ["proxy"]
