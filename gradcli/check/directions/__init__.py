"""The cheap look: products with random directions, and the search for the elements that are wrong."""
