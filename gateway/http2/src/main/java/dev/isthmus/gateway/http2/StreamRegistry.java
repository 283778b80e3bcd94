package dev.isthmus.gateway.http2;

import io.netty.util.collection.IntObjectHashMap;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The streams of a connection: the open ones, and the identifiers in use or used (RFC 9113, 5.1.1). */
final class StreamRegistry {
    private static final int REMEMBERED = 128;

    private final boolean server;
    private final IntObjectHashMap<Http2Stream> open = new IntObjectHashMap<>();
    private int lastOfPeer;
    private int nextOwn = 1;
    private long peerLimit = 100;

    /** Streams that we reset, on which the peer may still send; negative: streams that the peer reset. */
    private int[] reset = new int[0];

    private int resets;
    private int forgotten;

    StreamRegistry(boolean server) {
        this.server = server;
    }

    @Nullable
    Http2Stream get(int id) {
        return open.get(id);
    }

    void add(Http2Stream stream) {
        open.put(stream.id(), stream);
    }

    void remove(Http2Stream stream) {
        open.remove(stream.id());
    }

    int size() {
        return open.size();
    }

    /** A copy of the open streams, in no particular order. */
    List<Http2Stream> all() {
        return List.copyOf(open.values());
    }

    /** A copy of the open streams, the oldest first. */
    List<Http2Stream> inOrder() {
        return open.values().stream()
                .sorted(Comparator.comparingInt(Http2Stream::id))
                .toList();
    }

    /** The peer's SETTINGS_MAX_CONCURRENT_STREAMS. */
    void peerLimit(long limit) {
        peerLimit = limit;
    }

    boolean mayOpen() {
        return !server && open.size() < peerLimit && !exhausted();
    }

    /** Whether all identifiers of this side are used. */
    boolean exhausted() {
        return nextOwn < 0;
    }

    int nextOwn() {
        int id = nextOwn;
        nextOwn += 2;
        return id;
    }

    int lastOfPeer() {
        return lastOfPeer;
    }

    /** Whether the peer may open a stream with this identifier, now or later. */
    boolean idle(int id) {
        if ((id & 1) == 0) {
            return true;
        }
        return server ? id > lastOfPeer : !exhausted() && id >= nextOwn;
    }

    void openedByPeer(int id) {
        lastOfPeer = id;
    }

    /** We reset the stream, so further frames on it are not an error. */
    void rememberReset(int id) {
        remember(id);
    }

    /** The peer reset the stream, so further frames on it are a stream error only (RFC 9113, 5.1). */
    void rememberResetByPeer(int id) {
        remember(-id);
    }

    private void remember(int id) {
        if (reset.length == 0) {
            reset = new int[REMEMBERED];
        }
        int slot = resets++ & (REMEMBERED - 1);
        forgotten = Math.max(forgotten, Math.abs(reset[slot]));
        reset[slot] = id;
    }

    /** Whether a closed stream was reset by us; assumed for streams too old to be remembered. */
    boolean wasReset(int id) {
        if (id <= forgotten) {
            return true;
        }
        return remembers(id);
    }

    /** Whether a closed stream was reset by the peer; false for streams too old to be remembered. */
    boolean wasResetByPeer(int id) {
        return remembers(-id);
    }

    private boolean remembers(int id) {
        for (int each : reset) {
            if (each == id) {
                return true;
            }
        }
        return false;
    }
}
