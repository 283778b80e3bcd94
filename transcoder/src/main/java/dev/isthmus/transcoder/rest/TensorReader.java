package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.ValueReader;
import java.util.Map;

/** Reads a tensor's object into a {@link TensorBuilder}. */
final class TensorReader extends ObjectReader {
    private final TensorBuilder builder;

    TensorReader(ReaderSettings settings, TensorBuilder builder) {
        super(settings);
        this.builder = builder;
    }

    @Override
    ValueReader member(String key, int depth) {
        return switch (key) {
            case "name" -> text(key, builder::name);
            case "datatype" -> text(key, builder::dataType);
            case "shape" -> new ShapeReader(builder);
            case "data" -> builder.openData(depth);
            default -> skipped(depth);
        };
    }

    @Override
    void end() {
        builder.endObject();
    }

    @Override
    Map<String, Parameter> parameters() {
        return builder.parameters();
    }

    @Override
    boolean consumes(String parameter, Parameter given) {
        boolean size = parameter.equals("binary_data_size");
        if (size) {
            builder.binarySize(given);
        }
        return size;
    }

    @Override
    String where(String what) {
        return builder.check().where(builder.name()) + what;
    }
}
