"""Free ports of this machine. As a program it prints so many: ports.py N."""
import random
import socket
import sys

# The second is the first of Linux's ip_local_port_range.
FIRST, FIRST_OF_LINUX = 22_000, 32_768
given = set()


def free_port():
    """A port that nothing listens on, another one each time.

    It is below those that Linux gives to connections and to listeners without a port of their own, so that none of them takes it
    before a process that is told of it.
    """
    while True:
        port = random.randrange(FIRST, FIRST_OF_LINUX)
        if port in given:
            continue
        given.add(port)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            pass  # another one is free


if __name__ == "__main__":
    print(*(free_port() for _ in range(int(sys.argv[1]))))
