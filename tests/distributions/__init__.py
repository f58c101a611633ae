"""Tests of the distributions."""
