"""mitmproxy's content views: before and after, and the transcript."""
