"""A recorded exchange, its replay through the gateway, and what may differ between the two answers.

answers   an answer as the fields that are compared, and the differences of two
tensors   the output tensors of an answer, from either wire, as bytes
rules     the named normalisations: which differences are wanted, and why
report    what is printed
"""
