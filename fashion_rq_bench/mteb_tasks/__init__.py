"""The tasks for MTEB."""
