package dev.isthmus.bench.faults;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Requests that one stub executed for one model: a file with the number of arrivals, the number of completions, and the
 * arrivals of each request id. The file is memory-mapped, so that counts survive SIGKILL and a restarted stub continues
 * them. Written by one thread.
 */
final class Ledger {
    /** Ids are below this. */
    static final int MAX_IDS = 1 << 20;

    static final int ARRIVALS = 0;
    static final int COMPLETIONS = 8;
    static final int COUNTS = 16;
    static final int SIZE = COUNTS + MAX_IDS;

    private final MappedByteBuffer file;

    private Ledger(MappedByteBuffer file) {
        this.file = file;
    }

    /** Opens the ledger; a new one is filled with zeros. */
    static Ledger open(Path path) throws IOException {
        try (FileChannel channel =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MappedByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, SIZE);
            mapped.order(ByteOrder.LITTLE_ENDIAN);
            return new Ledger(mapped);
        }
    }

    /** Counts an arrival; returns false, without counting, if the id is out of range. */
    boolean arrived(int id) {
        if (id < 0 || id >= MAX_IDS) {
            return false;
        }
        int at = COUNTS + id;
        file.put(at, (byte) Math.min(Byte.MAX_VALUE, file.get(at) + 1));
        file.putLong(ARRIVALS, file.getLong(ARRIVALS) + 1);
        return true;
    }

    /** Counts the completion of a request. */
    void completed() {
        file.putLong(COMPLETIONS, file.getLong(COMPLETIONS) + 1);
    }
}
