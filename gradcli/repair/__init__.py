"""Repair a derivative that a check has found wrong, by a small edit of its source, or two.

Read its modules in this order:

    subject      what can be edited: the user's functions behind a failed claim, and how to install other code in them
    scope        the names, numbers and pieces of the forward function that an edit may use
    edits        the small edits of one expression or one statement
    candidates   all edits of a function, those that the diagnosis suggests first
    pairs        two edits, of which each repairs a part of the derivative
    trial        whether the edited function agrees with numeric derivatives, which are computed once for each point
    search       try the candidates, check the best ones as a whole, and write down the shortest as a patch

Candidates never call the function whose derivative they claim. What is tried is the text that would be written.
"""
