package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.JsonTokenizer.Token;
import dev.isthmus.transcoder.json.RetainedText;
import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the {@code parameters} of a message, a tensor or a requested output. */
final class ParametersReader implements ValueReader {
    private final ReaderSettings settings;
    private final ObjectReader owner;
    private final Set<String> keys = new HashSet<>();
    private boolean opened;
    private @Nullable String key;
    /** What reads an array or an object, and whose it is. */
    private @Nullable ValueReader nested;

    private String nestedKey = "";

    ParametersReader(ReaderSettings settings, ObjectReader owner) {
        this.settings = settings;
        this.owner = owner;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (nested == null || nested.read(json)) {
            keep(nested);
            nested = null;
            Token token = json.next();
            if (token == Token.NEED_MORE) {
                return false;
            }
            if (key != null) {
                value(key, token, json);
                key = null;
            } else if (opened) {
                if (token == Token.END_OBJECT) {
                    return true;
                }
                key = key(json.text());
            } else if (token == Token.NULL && !settings.request()) {
                return true;
            } else {
                open(token);
            }
        }
        return false;
    }

    private void open(Token token) {
        if (token != Token.START_OBJECT) {
            throw settings.failure(owner.where("parameters") + ": an object is expected, got " + token);
        }
        opened = true;
    }

    private String key(String name) {
        owner.requireNew(name, keys);
        int limit = settings.limits().parameters();
        if (keys.size() > limit) {
            throw settings.failure("parameters: at most " + limit + " are taken");
        }
        return name;
    }

    private void value(String name, Token token, JsonTokenizer json) {
        Parameter value = ParameterValue.of(token, json);
        if (value != null) {
            keep(name, value);
        } else if ((settings.request() && SkippedValue.isWord(token))
                || !settings.foreign().accepts(name)) {
            throw settings.failure(owner.where("parameter '" + name + "': "
                    + (token == Token.NUMBER
                            ? "at most 64 bits are taken"
                            : "a string, a number or a boolean is expected")
                    + ", got " + (token == Token.NUMBER ? json.shown() : token)));
        } else {
            foreign(name, token, json);
        }
    }

    /** Kept as its text, but in an answer that goes on as it came, and where it is no JSON. */
    private void foreign(String name, Token token, JsonTokenizer json) {
        boolean kept = settings.request() || settings.elements() == ElementUse.READ;
        boolean opens = token == Token.START_OBJECT || token == Token.START_ARRAY;
        if (opens) {
            SkippedValue value = new SkippedValue(json.depth() - 1, !settings.request());
            nestedKey = name;
            nested = kept ? new RetainedText(value, settings.held()::data) : value;
        }
        if (nested instanceof RetainedText text) {
            text.add(json.window(), json.position() - 1, json.position());
        } else if (!opens && kept && !SkippedValue.isWord(token)) {
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
        if (settings.request() && name.startsWith("triton_") && !name.equals("triton_enable_empty_final_response")) {
            throw settings.failure(owner.where("parameter '" + name + "': names that begin with triton_ are reserved"));
        }
        put(name, value, value instanceof Parameter.Text text ? text.value().length() : 0);
    }

    private void put(String name, Parameter value, long text) {
        settings.held().heap(HeldMemory.PARAMETER + text);
        owner.parameters().put(name, value);
    }
}
