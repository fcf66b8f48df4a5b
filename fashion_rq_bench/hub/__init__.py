"""Names that other libraries resolve: `datasets`, `evaluate` and the Hub."""
