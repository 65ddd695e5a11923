from proxies import proxy_server

__all__ = ["proxy_server"]
