"""Fourier transforms: what `gradcli.fft` hands on, and the short-time transforms of the top level."""
