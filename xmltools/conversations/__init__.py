"""What is done with whole conversations: to plain text and back, streams, checks, and making them shorter."""
