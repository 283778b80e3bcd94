"""python -m oip_conformance"""
import sys

from .cli import main

sys.exit(main())
