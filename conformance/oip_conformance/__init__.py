"""Conformance suite of the Open Inference Protocol (V2), and a double of a server that speaks it.

chapters  all cases, by chapter                           
cases     the type of cases, and their registration        cases_*   the cases, by chapter
basis     the profile of each case, and the section that it rests on
models    models of an endpoint                            discovery an endpoint's models, from its metadata
client    single REST and gRPC calls                       messages  the protocol's messages and service
http2     hand-written HTTP/2 requests                     tensors   bits and their wire forms
running   runs cases                                       expected  expected failures and disputed cases
report    the outcomes as text, JSON, JUnit XML and badge  page      the outcomes as HTML
witness   scripted upstream servers                        double    a server made from metadata
cli       the command oip-conformance                      listing   the cases as a document
against   a server alone and behind Isthmus                usage     arguments that the commands share
ports     free ports of this machine
"""
__version__ = "0.2.0"
