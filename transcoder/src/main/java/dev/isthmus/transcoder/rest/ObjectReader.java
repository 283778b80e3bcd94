package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reads an object with parameters (the message, a tensor, a requested output), from after its opening brace. */
abstract class ObjectReader implements ValueReader {
    private final ReaderSettings settings;
    private final KeySet keys = new KeySet();
    private @Nullable ValueReader value;
    /** The heap bytes counted for the names of its members and parameters. */
    private long names;

    ObjectReader(ReaderSettings settings) {
        this.settings = settings;
    }

    /** The reader of this member's value, which comes next. */
    abstract ValueReader member(String key, int depth);

    /** The object is complete. */
    abstract void end();

    abstract Map<String, Parameter> parameters();

    /**
     * Consumes a parameter that describes the body's layout (binary tensor data extension); returns false for any
     * other.
     */
    abstract boolean consumes(String parameter, Parameter given);

    /** Prefixes a message with the object's name, if it has one. */
    abstract String where(String what);

    @Override
    public final boolean read(JsonTokenizer json) {
        while (value == null || value.read(json)) {
            settings.foreign().skipped(value);
            value = null;
            JsonToken token = json.next();
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (token == JsonToken.END_OBJECT) {
                settings.held().heap(-names);
                end();
                return true;
            }
            String key = json.text();
            requireNew(key, keys);
            value = key.equals("parameters") ? new ParametersReader(settings, this) : member(key, json.depth());
        }
        return false;
    }

    /** Whether the last of several parameters of the same name counts, instead of being an error. */
    boolean lastParameterCounts() {
        return false;
    }

    /** Adds a key; fails if it is duplicated. */
    final void requireNew(String key, KeySet seen) {
        if (!seen.add(key)) {
            throw settings.failure(where("key '" + key + "' is given twice"));
        }
        long bytes = HeldMemory.member(key);
        names += bytes;
        settings.held().heap(bytes);
    }

    final boolean has(String key) {
        return keys.contains(key);
    }

    /** A reader that skips a value. */
    final ValueReader skipped(int depth) {
        return settings.request() ? SkippedValue.strict(depth, settings.held()::heap) : SkippedValue.lenient(depth);
    }

    /** A reader of a string value; null is none. */
    final ValueReader text(String key, Consumer<String> to) {
        return json -> {
            JsonToken token = json.next();
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (token == JsonToken.STRING) {
                to.accept(json.text());
            } else if (token == JsonToken.NULL) {
                settings.foreign().absent();
            } else {
                throw settings.failure(where(key) + ": a string is expected, got " + token);
            }
            return true;
        };
    }
}
