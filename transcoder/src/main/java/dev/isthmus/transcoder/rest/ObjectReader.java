package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.RetainedText;
import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.StreamParameters;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads an object with parameters (the message, a tensor, a requested output), from after its opening brace. */
abstract class ObjectReader implements ValueReader {
    /** The members of the protocol. */
    private static final List<String> KNOWN = List.of(
            "id",
            "inputs",
            "outputs",
            "parameters",
            "model_name",
            "model_version",
            "name",
            "shape",
            "datatype",
            "data");

    final ReaderState state;
    /** The members read: a bit for each of {@link #KNOWN}, and the names of others. */
    private int known;

    private @Nullable Set<String> others;
    private @Nullable ValueReader value;
    /** The member whose value comes next, if that is a string. */
    private @Nullable String text;

    private Map<String, Parameter> parameters = Map.of();
    /** The heap bytes counted for the names of its members and parameters. */
    private long names;

    ObjectReader(ReaderState state) {
        this.state = state;
    }

    /** The reader of this member's value, which comes next; null for a string, which {@link #text} receives. */
    abstract @Nullable ValueReader member(String key, int depth);

    /** The value of a member that is a string. */
    abstract void text(String key, String given);

    /** The object is complete. */
    abstract void end();

    /** The parameters read so far. */
    final Map<String, Parameter> parameters() {
        return parameters;
    }

    /** Adds a parameter, or replaces the one of this name. */
    final void put(String name, Parameter given) {
        parameters = parameters.isEmpty() ? new LinkedHashMap<>() : parameters;
        parameters.put(name, given);
    }

    /** The parameter that says whether BYTES are base64 describes the JSON; a server that got it would decode again. */
    final void removeContentType() {
        if (!parameters.isEmpty()) {
            parameters.remove("content_type");
        }
    }

    /**
     * Consumes a parameter that describes the body's layout (binary tensor data extension); returns false for any
     * other.
     */
    abstract boolean consumes(String parameter, Parameter given);

    /** Prefixes a message with the object's name, if it has one. */
    abstract String where(String what);

    @Override
    public final boolean read(JsonTokenizer json) {
        while (text == null ? value == null || value.read(json) : text(text, json)) {
            state.skipped(value);
            value = null;
            text = null;
            JsonToken token = json.next();
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (token == JsonToken.END_OBJECT) {
                state.heap(-names);
                end();
                return true;
            }
            String key = json.text();
            requireNew(key);
            value = key.equals("parameters") ? new ParametersReader(state, this) : member(key, json.depth());
            text = value == null ? key : null;
        }
        return false;
    }

    /** Reads a string; null is none. */
    private boolean text(String key, JsonTokenizer json) {
        JsonToken token = json.next();
        if (token == JsonToken.STRING) {
            text(key, json.text());
        } else if (token == JsonToken.NULL) {
            state.hasNull = true;
        } else if (token != JsonToken.NEED_MORE) {
            throw state.failure(where(key) + ": a string is expected, got " + token);
        }
        return token != JsonToken.NEED_MORE;
    }

    /** Whether the last of several parameters of the same name counts, instead of being an error. */
    boolean lastParameterCounts() {
        return false;
    }

    private void requireNew(String key) {
        int index = KNOWN.indexOf(key);
        if (index < 0) {
            others = others == null ? new HashSet<>() : others;
            requireNew(key, others.add(key));
        } else {
            requireNew(key, !has(key));
            known |= 1 << index;
        }
    }

    /** Counts a key; fails if it is not new. */
    private void requireNew(String key, boolean added) {
        if (!added) {
            throw state.failure(where("key '" + key + "' is given twice"));
        }
        long bytes = ReaderState.member(key);
        names += bytes;
        state.heap(bytes);
    }

    /** Whether it has this member, one of the protocol. */
    final boolean has(String key) {
        return (known & 1 << KNOWN.indexOf(key)) != 0;
    }

    /** A reader that skips a value. */
    final SkippedValue skipped(int depth) {
        return state.request ? SkippedValue.strict(depth, state::heap) : SkippedValue.lenient(depth);
    }

    /** Reads the {@code parameters} of a message, a tensor or a requested output. */
    private static final class ParametersReader implements ValueReader {
        private final ReaderState state;
        private final ObjectReader owner;
        private final Set<String> keys = new HashSet<>();
        private boolean opened;
        private @Nullable String key;
        /** The reader of an array or object, and the name of its parameter. */
        private @Nullable ValueReader nested;

        private String nestedKey = "";

        ParametersReader(ReaderState state, ObjectReader owner) {
            this.state = state;
            this.owner = owner;
        }

        @Override
        public boolean read(JsonTokenizer json) {
            while (nested == null || nested.read(json)) {
                state.skipped(nested);
                keep(nested);
                nested = null;
                JsonToken token = json.next();
                if (token == JsonToken.NEED_MORE) {
                    return false;
                }
                if (key != null) {
                    value(key, token, json);
                    key = null;
                } else if (opened) {
                    if (token == JsonToken.END_OBJECT) {
                        return true;
                    }
                    key = key(json.text());
                } else if (token == JsonToken.NULL) {
                    state.hasNull = true;
                    return true;
                } else {
                    open(token);
                }
            }
            return false;
        }

        private void open(JsonToken token) {
            if (token != JsonToken.START_OBJECT) {
                throw state.failure(owner.where("parameters") + ": an object is expected, got " + token);
            }
            opened = true;
        }

        private String key(String name) {
            boolean added = keys.add(name);
            if (!added && owner.lastParameterCounts()) {
                return name;
            }
            owner.requireNew(name, added);
            int limit = state.limits.parameters();
            if (keys.size() > limit) {
                throw state.failure("parameters: at most " + limit + " are accepted");
            }
            return name;
        }

        private void value(String name, JsonToken token, JsonTokenizer json) {
            Parameter value = ParameterValue.of(token, json);
            if (value != null) {
                keep(name, value);
            } else if ((state.request && SkippedValue.isWord(token)) || !state.accepts(name)) {
                throw state.failure(owner.where("parameter '" + name + "': "
                        + (token == JsonToken.NUMBER
                                ? "at most 64 bits are accepted"
                                : "a string, a number or a boolean is expected")
                        + ", got " + (token == JsonToken.NUMBER ? json.shown() : token)));
            } else {
                foreign(name, token, json);
            }
        }

        /** Retained as text, except in a response that is passed through, or if it is not JSON. */
        private void foreign(String name, JsonToken token, JsonTokenizer json) {
            boolean kept = state.request || !state.passes;
            boolean opens = token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY;
            if (opens) {
                SkippedValue value = owner.skipped(json.depth() - 1);
                nestedKey = name;
                nested = kept ? new RetainedText(value, state::data) : value;
            }
            if (nested instanceof RetainedText text) {
                text.add(json.window(), json.position() - 1, json.position());
            } else if (SkippedValue.isWord(token)) {
                state.hasWord = true;
            } else if (!opens && kept) {
                put(name, new Parameter.Json(json.token()), json.tokenEnd() - json.tokenStart());
            }
        }

        private void keep(@Nullable ValueReader read) {
            if (read instanceof RetainedText text) {
                if (!text.hasWord()) {
                    put(nestedKey, new Parameter.Json(text.text()), text.size());
                }
                text.release();
            }
        }

        private void keep(String name, Parameter value) {
            if (owner.consumes(name, value)) {
                return;
            }
            if (state.request && name.startsWith("triton_") && !name.equals(StreamParameters.EMPTY_FINAL)) {
                throw state.failure(
                        owner.where("parameter '" + name + "': names that begin with triton_ are reserved"));
            }
            put(name, value, value instanceof Parameter.Text text ? text.value().length() : 0);
        }

        private void put(String name, Parameter value, long text) {
            state.heap(ReaderState.PARAMETER + text);
            owner.put(name, value);
        }
    }
}
