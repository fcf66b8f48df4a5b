"""Names that other libraries resolve: `datasets`, `evaluate`, `mteb` and the Hub.

``activate.py`` installs the hooks, ``import_hook.py`` runs them when a library is imported,
``datasets_plugin.py`` and ``evaluate_plugin.py`` are what they do, ``publish.py`` uploads.
"""

from __future__ import annotations
