"""Files, settings, progress, metering and tables of text: what every other room may use.

Lives here: nothing that knows of products or queries. May import: ``errors``.
Must not import: any other room.
"""
