"""Programs: whatever has named inputs and an output and can be run again on other values."""
