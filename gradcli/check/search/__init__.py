"""The search for a point where a claim is wrong, and for the smallest such point."""
