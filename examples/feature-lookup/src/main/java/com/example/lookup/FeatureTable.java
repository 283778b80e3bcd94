package com.example.lookup;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Feature vectors by id, as a tensor has them: FP32, little-endian.
 *
 * @param width features of each id
 */
record FeatureTable(int width, Map<String, byte[]> rows) {

    /** @throws IllegalArgumentException if a line is not like the first one */
    static FeatureTable read(Path file) {
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Map<String, byte[]> rows = new HashMap<>();
        int width = lines.isEmpty() ? 0 : lines.getFirst().split(",", -1).length - 1;
        for (int i = 0; i < lines.size(); i++) {
            String[] fields = lines.get(i).split(",", -1);
            if (fields.length != width + 1 || width == 0) {
                throw new IllegalArgumentException(
                        file + ":" + (i + 1) + ": an id and " + Math.max(1, width) + " features are expected");
            }
            ByteBuffer row = ByteBuffer.allocate(width * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            for (int j = 1; j < fields.length; j++) {
                row.putFloat(Float.parseFloat(fields[j].strip()));
            }
            rows.put(fields[0].strip(), row.array());
        }
        return new FeatureTable(width, Map.copyOf(rows));
    }
}
