"""From a claim and values of its function to a state for each element of the Jacobian.

This package knows no options, no reports and no files: `check` turns its states and observations into results. Read its
modules in this order; each has one idea.

    flat         named arrays, complex or not, are one real vector x; the claim is a real matrix
    sampler      the function is called along lines only; each value is kept
    fit          a Chebyshev series on one interval has a slope, and an error from the noise of its last coefficients
    chain        fits of growing width must agree; what they agree on is an interval
    estimate     the interval, the jump or kink at the point, or the slope of a piece
    rows         the outputs to compare: all of them, or random combinations
    verdict      a claimed element passes if it lies in the interval of its estimate, and the interval is narrow
    directions   along random directions, all elements are compared at once
    probe        which directions and elements are compared, until all have a state
    locate       bisection finds the elements that make a direction disagree
    kink         claimed values that meet at a kink must lie in the generalized gradient together
    products     products with vectors are linear, fresh in each call, and adjoint to each other

symmetric and limited_precision look for other reasons why a right claim seems wrong.
"""
