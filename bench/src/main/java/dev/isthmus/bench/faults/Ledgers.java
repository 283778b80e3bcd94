package dev.isthmus.bench.faults;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Reads the counts of all stubs of one run, while they run or afterwards. */
record Ledgers(Path folder) {
    private static final String ENDING = ".ledger";

    /** Numbers of arrivals and of completions. */
    record Counted(long arrivals, long completions) {
        long inFlight() {
            return arrivals - completions;
        }
    }

    /** The ledger file of a stub's model. Both names consist of letters, digits and dashes. */
    static Path file(Path folder, String stub, String model) {
        return folder.resolve(stub + "." + model + ENDING);
    }

    /** The counts of one stub over all models. */
    Counted of(String stub) throws IOException {
        return sum(stub + ".*");
    }

    /** The counts of one model over all stubs. */
    Counted ofModel(String model) throws IOException {
        return sum("*." + model);
    }

    /** The counts of all stubs. */
    Counted all() throws IOException {
        return sum("*");
    }

    /** The arrivals of each request id at the matching stubs. */
    int[] executions(String stub) throws IOException {
        int[] executions = new int[Ledger.MAX_IDS];
        for (Path path : files(stub + ".*")) {
            byte[] counts = read(path, Ledger.COUNTS, Ledger.MAX_IDS).array();
            for (int id = 0; id < counts.length; id++) {
                executions[id] += counts[id];
            }
        }
        return executions;
    }

    /** The number of requests that arrived more than once at any stubs. */
    int duplicates() throws IOException {
        int duplicates = 0;
        for (int count : executions("*")) {
            duplicates += count > 1 ? 1 : 0;
        }
        return duplicates;
    }

    private Counted sum(String glob) throws IOException {
        long arrivals = 0;
        long completions = 0;
        for (Path path : files(glob)) {
            ByteBuffer head = read(path, 0, Ledger.COUNTS);
            arrivals += head.getLong(Ledger.ARRIVALS);
            completions += head.getLong(Ledger.COMPLETIONS);
        }
        return new Counted(arrivals, completions);
    }

    private List<Path> files(String glob) throws IOException {
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, glob + ENDING)) {
            found.forEach(files::add);
        }
        return files;
    }

    /** Bytes of the file; zeros beyond its end, since the stub may just be creating it. */
    private static ByteBuffer read(Path path, int at, int length) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            long from = at;
            while (bytes.hasRemaining()) {
                int read = channel.read(bytes, from);
                if (read < 0) {
                    break;
                }
                from += read;
            }
        } catch (NoSuchFileException e) {
            return bytes.clear();
        }
        return bytes.clear();
    }
}
