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
    private final boolean optional;
    private final Supplier<ObjectReader> items;
    private boolean opened;
    private @Nullable ObjectReader item;

    /**
     * A reader positioned before the array.
     *
     * @param optional whether null may stand for no array
     * @param items creates the reader of the next object
     */
    ObjectArrayReader(ReaderSettings settings, String name, boolean optional, Supplier<ObjectReader> items) {
        this.settings = settings;
        this.name = name;
        this.optional = optional;
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
                case NULL -> {
                    if (opened || !optional) {
                        throw unexpected("an array of objects", token);
                    }
                    settings.foreign().absent();
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
