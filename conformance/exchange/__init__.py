"""Recorded exchanges, their replay through the gateway, and the allowed differences between the responses.

answers   a response as comparable fields, and the differences between two responses
tensors   the output tensors of a response, from either wire, as bytes
rules     the named normalisations: allowed differences and their reasons
report    the printed report
"""
