"""What a chat completion is: chunks, errors, finish words, what a stream has sent so far."""
