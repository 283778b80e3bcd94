package dev.isthmus.bench.attack;

/**
 * What is attacked, on loopback.
 *
 * @param port where it speaks HTTP/1.1
 * @param http2Port where it speaks HTTP/2, which may be the same
 * @param brief whether the form for CI is played: fewer connections
 */
public record AttackTarget(int port, int http2Port, boolean brief) {
    int connections(int many) {
        return brief ? many / 4 : many;
    }
}
