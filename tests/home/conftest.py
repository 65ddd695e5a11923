from proxies import proxy, proxy_server

__all__ = ["proxy", "proxy_server"]
