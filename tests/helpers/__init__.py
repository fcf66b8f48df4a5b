"""What several test packages share: made catalogs, editions, models and judgements."""
