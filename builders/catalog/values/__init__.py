"""What a cell means: brands, prices, attributes found in text, cleaned and derived values.

Lives here: functions of columns. May import: ``words``, ``schema``.
Must not import: files or the reader.
"""
