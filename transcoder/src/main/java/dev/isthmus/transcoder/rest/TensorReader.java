package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.TensorCheck;
import java.util.Map;

/** Reads a tensor's object into its draft. */
final class TensorReader extends ObjectReader {
    private final TensorCheck check;
    private final TensorBuilder draft;

    TensorReader(ReaderSettings settings, TensorBuilder draft) {
        super(settings);
        this.check = settings.check();
        this.draft = draft;
    }

    @Override
    ValueReader member(String key, int depth) {
        return switch (key) {
            case "name" -> text(key, draft::name);
            case "datatype" -> text(key, draft::dataType);
            case "shape" -> new ShapeReader(check, draft);
            case "data" -> draft.openData(depth);
            default -> skipped(depth);
        };
    }

    @Override
    void end() {
        draft.endObject();
    }

    @Override
    Map<String, Parameter> parameters() {
        return draft.parameters();
    }

    @Override
    boolean consumes(String parameter, Parameter given) {
        boolean size = parameter.equals("binary_data_size");
        if (size) {
            draft.binarySize(given);
        }
        return size;
    }

    @Override
    String where(String what) {
        return check.kind() + " '" + draft.name() + "': " + what;
    }
}
