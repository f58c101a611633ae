"""From a claim and values of its function to a state for each element of the Jacobian.

This package knows no options, no reports and no files: `check` turns its states and observations into results. Read its
modules in this order; each has one idea.

    flat         named arrays, complex or not, are one real vector x; the claim is a real matrix
    sampler      the function is called along lines only; each value is kept
    fit          a Chebyshev series on one interval has a slope, and an error from the noise of its last coefficients
    chain        fits of growing width must agree; what they agree on is an interval
    estimate     the interval, or the jump or kink at the point
    rows         the outputs to compare: all of them, or random combinations
    integral     the integral of a right claim follows the function; this needs no numeric derivative
    steps        values or slopes that jump from step to step
    decide       the table that turns what was seen into a verdict
    compare      what the slopes and the integral say of a claim along a line
    verdict      what is known of each element
    directions   along random directions, all elements are compared at once
    probe        which directions and elements are compared, until all have a state
    locate       bisection finds the elements that make a direction disagree
    nearby       a claim with kinks is checked next to them, and then at the point
    kink         claimed values that meet at a kink must lie in the generalized gradient together
    products     products with vectors are linear, fresh in each call, and adjoint to each other
    repeated     two calls at one point give the same, whatever was called in between

symmetric looks for functions of symmetric matrices only, and float32 for functions that compute in float32.
"""
