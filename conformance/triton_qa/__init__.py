"""Triton's own test qa/L0_infer, against a real Triton and against Isthmus in front of it. Its sources are fetched, see install.sh."""
