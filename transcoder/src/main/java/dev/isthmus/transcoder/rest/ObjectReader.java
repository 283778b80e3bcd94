package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.JsonTokenizer.Token;
import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reads an object that has parameters (the message, a tensor, a requested output), from behind its opening brace. */
abstract class ObjectReader implements ValueReader {
    private final ReaderSettings settings;
    private final Set<String> keys = new HashSet<>();
    private @Nullable ValueReader value;
    /** What the names of its members, and of its parameters, take. */
    private long names;

    ObjectReader(ReaderSettings settings) {
        this.settings = settings;
    }

    /** What reads the value of this member, which comes next. */
    abstract ValueReader member(String key, int depth);

    /** The object is complete. */
    abstract void end();

    abstract Map<String, Parameter> parameters();

    /** Takes a parameter that says how the body is made up (binary tensor data extension); false for any other. */
    abstract boolean consumes(String parameter, Parameter given);

    /** Puts the object's name, if it has one, before what is said about it. */
    abstract String where(String what);

    @Override
    public final boolean read(JsonTokenizer json) {
        while (value == null || value.read(json)) {
            value = null;
            Token token = json.next();
            if (token == Token.NEED_MORE) {
                return false;
            }
            if (token == Token.END_OBJECT) {
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

    /** Adds a key; none may come twice. */
    final void requireNew(String key, Set<String> seen) {
        if (!seen.add(key)) {
            throw settings.failure(where("key '" + key + "' is given twice"));
        }
        long taken = HeldMemory.member(key);
        names += taken;
        settings.held().heap(taken);
    }

    final boolean has(String key) {
        return keys.contains(key);
    }

    /** A reader of what is of no interest. */
    final ValueReader skipped(int depth) {
        return new SkippedValue(depth, !settings.request());
    }

    /** A reader of a string. */
    final ValueReader text(String key, Consumer<String> to) {
        return json -> {
            Token token = json.next();
            if (token == Token.NEED_MORE) {
                return false;
            }
            if (token == Token.STRING) {
                to.accept(json.text());
            } else if (settings.request() || token != Token.NULL) {
                throw settings.failure(where(key) + ": a string is expected, got " + token);
            }
            return true;
        };
    }
}
