"""What hosts are known to refuse: it is changed before a request leaves."""
