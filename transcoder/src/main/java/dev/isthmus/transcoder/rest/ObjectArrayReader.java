package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.ValueReader;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads an array of objects: tensors or requested outputs. */
final class ObjectArrayReader implements ValueReader {
    private final ReaderSettings settings;
    private final String name;
    private final Supplier<ObjectReader> items;
    private boolean opened;
    private @Nullable ObjectReader item;

    /** @param items creates the reader of the next object */
    ObjectArrayReader(ReaderSettings settings, String name, Supplier<ObjectReader> items) {
        this.settings = settings;
        this.name = name;
        this.items = items;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (item == null || item.read(json)) {
            item = null;
            JsonToken token = json.next();
            switch (token) {
                case NEED_MORE -> {
                    return false;
                }
                case START_ARRAY -> {
                    if (opened) {
                        throw unexpected("an object", token);
                    }
                    opened = true;
                }
                case START_OBJECT -> {
                    if (!opened) {
                        throw unexpected("an array", token);
                    }
                    item = items.get();
                }
                case END_ARRAY -> {
                    return true;
                }
                default -> throw unexpected("an array of objects", token);
            }
        }
        return false;
    }

    private OipException unexpected(String wanted, JsonToken token) {
        return settings.failure(name + ": " + wanted + " is expected, got " + token);
    }
}
