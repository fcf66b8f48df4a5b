"""One comparator m_a per attribute."""
