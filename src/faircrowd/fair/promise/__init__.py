"""What holds for all tasks like these."""
