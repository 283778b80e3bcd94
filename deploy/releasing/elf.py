"""What an ELF file of 64 bits, little-endian, says of itself: its processor, its name, and the libraries that it needs."""

import struct

MAGIC = b"\x7fELF\x02\x01"
PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_NEEDED, DT_STRTAB, DT_SONAME = 0, 1, 5, 14


def is_program(content):
    """Whether it is a program or a library of any processor."""
    return content[:4] == MAGIC[:4]


class Program:
    """A program or a library. ValueError if it is none of 64 bits."""

    def __init__(self, content):
        if content[:6] != MAGIC:
            raise ValueError(f"the file begins with {content[:6]!r}, expected ELF of 64 bits, little-endian")
        self.machine, = struct.unpack_from("<H", content, 18)
        start, = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        segments = [struct.unpack_from("<IIQQQQ", content, start + each * size) for each in range(count)]
        self._loaded = [(address, offset, length) for kind, _, offset, address, _, length in segments if kind == PT_LOAD]
        entries = [entry for kind, _, offset, _, _, length in segments if kind == PT_DYNAMIC
                   for entry in self._entries(content, offset, length)]
        names = next((self._offset(value) for tag, value in entries if tag == DT_STRTAB), 0)
        self.needed = [self._text(content, names + value) for tag, value in entries if tag == DT_NEEDED]
        self.soname = next((self._text(content, names + value) for tag, value in entries if tag == DT_SONAME), None)

    @staticmethod
    def _entries(content, offset, length):
        for at in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("<QQ", content, at)
            if tag == DT_NULL:
                return
            yield tag, value

    def _offset(self, address):
        """Where in the file the bytes are that are loaded at an address."""
        return next(address - begin + offset for begin, offset, length in self._loaded if begin <= address < begin + length)

    @staticmethod
    def _text(content, at):
        return content[at:content.index(b"\0", at)].decode()
