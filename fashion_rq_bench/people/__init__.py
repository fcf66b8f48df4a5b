"""What is asked of people: the user study and the hand review of queries.

Lives here: samples, pages to fill in, their answers analysed. May import: ``editions``,
``measures`` and below. Must not import: evaluation, reports.
"""
