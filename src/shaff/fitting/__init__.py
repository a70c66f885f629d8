"""One fit, from checked settings to the finished result."""
