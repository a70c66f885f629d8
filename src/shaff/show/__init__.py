"""How results are shown: sentences, text, notebook, plots, report."""
