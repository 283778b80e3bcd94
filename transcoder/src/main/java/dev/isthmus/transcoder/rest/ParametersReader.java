package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.rest.JsonTokenizer.Token;
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
    private @Nullable SkippedValue skipped;

    ParametersReader(ReaderSettings settings, ObjectReader owner) {
        this.settings = settings;
        this.owner = owner;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (skipped == null || skipped.read(json)) {
            skipped = null;
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
        } else if (!settings.foreign().accepts(name)) {
            throw settings.failure(
                    owner.where("parameter '" + name + "': a string, a number or a boolean is expected, got " + token));
        } else if (token == Token.START_OBJECT || token == Token.START_ARRAY) {
            skipped = new SkippedValue(json.depth() - 1);
        }
    }

    private void keep(String name, Parameter value) {
        if (owner.consumes(name, value)) {
            return;
        }
        if (settings.request() && name.startsWith("triton_") && !name.equals("triton_enable_empty_final_response")) {
            throw settings.failure(owner.where("parameter '" + name + "': names that begin with triton_ are reserved"));
        }
        owner.parameters().put(name, value);
    }
}
