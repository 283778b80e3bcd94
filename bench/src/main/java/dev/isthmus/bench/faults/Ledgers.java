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

/** Reads what the stubs of one run have counted, while they run or after they died. */
record Ledgers(Path folder) {
    private static final String ENDING = ".ledger";

    /** Arrivals that have completed and that have not. */
    record Counted(long arrivals, long completions) {
        long underWay() {
            return arrivals - completions;
        }
    }

    /** The file of a stub's model. Both are letters, digits and dashes. */
    static Path file(Path folder, String stub, String model) {
        return folder.resolve(stub + "." + model + ENDING);
    }

    /** The counts of one stub, all models together. */
    Counted of(String stub) throws IOException {
        return sum(stub + ".*");
    }

    /** The counts of one model, all stubs together. */
    Counted ofModel(String model) throws IOException {
        return sum("*." + model);
    }

    /** The counts of all stubs. */
    Counted all() throws IOException {
        return sum("*");
    }

    /** How often each request arrived at the stubs that match. */
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

    /** How many requests arrived more than once, wherever. */
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

    /** Bytes of the file; zeros where it is not yet as long, since its stub is just making it. */
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
