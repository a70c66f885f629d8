"""Where rows come from: files, text, databases, lakes, and samples of them."""
