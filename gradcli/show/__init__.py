"""Write results as text, pages and pictures: one function for each format, in a table `WRITERS` of each module.

Read data (tsv, csv, JSON) first, then table (terminals), checks and studies (parts that several formats share), and the
others as you need them. `gradcli.results.formats` lists the formats and finds the writer of a result.
"""
