"""What other limits would cost: every epsilon, or every limit of one of several constraints."""
