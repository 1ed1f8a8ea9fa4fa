"""What pages, cards and the terminal say about a result, each kind of sentence in one place."""
