"""What the other wire cannot carry, or a server does differently on it: the normalisations of a crossed replay."""
from exchange import forms, tensors
from exchange.rules import Rule

CROSSED = []
