"""What deploy/release and deploy/check-release share.

versions  the version in every file
sources   builds from a sources archive
files     names, digests, signatures, provenance
"""
