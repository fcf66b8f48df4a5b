"""Files of a catalog as raw rows: CSV, JSON, Parquet, the Kaggle archive, pictures.

Lives here: reading. May import: the catalog's configuration and columns.
Must not import: the reader or the stages after it.
"""
