"""What a command found, as data: rows, and a document for JSON.

Read base (the kinds of results, gradients among them), then patches, inputs, checks, repairs, studies, graphs and
causes (the findings). formats says in which formats a result can be written.
"""
