"""The verdict on every element, and what may excuse a difference: kinks, noise, symmetric arguments."""
