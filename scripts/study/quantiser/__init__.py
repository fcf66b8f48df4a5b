"""Parts of the quantiser's study: settings, single runs, label noise, tables, plots."""
