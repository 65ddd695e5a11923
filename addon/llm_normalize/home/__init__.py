"""The proxy's own pages: home, clients, PAC, status, probe."""
