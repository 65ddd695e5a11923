"""mitmproxy's certificate authority in this machine's trust stores."""
