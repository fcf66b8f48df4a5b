"""The one place for names, types, grades and the attributes of a domain.

Lives here: Arrow schemas, grades, the attribute schema, the domains with their word lists.
May import: ``errors``, ``support``. Must not import: any other room.
"""
