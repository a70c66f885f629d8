"""Results: frozen data with their arithmetic. Drawing and writing is done in `shaff.show`."""
