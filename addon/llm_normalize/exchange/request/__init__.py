"""The request as it is sent: adapted, or translated to chat."""
