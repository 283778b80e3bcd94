package dev.isthmus.transcoder.rest;

import dev.isthmus.transcoder.TensorCheck;
import dev.isthmus.transcoder.WireLimits;
import dev.isthmus.transcoder.rest.JsonTokenizer.Token;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;

/** A tensor's {@code data} that comes before its datatype: its text, kept until it can be read. */
final class KeptData implements ValueReader {
    private final TensorCheck check;
    private final String tensor;
    private final WireLimits limits;
    private final SkippedValue value;
    private final ByteArrayOutputStream text = new ByteArrayOutputStream();

    /** @param depth of the tensor's object in the document */
    KeptData(TensorCheck check, String tensor, WireLimits limits, int depth) {
        this.check = check;
        this.tensor = tensor;
        this.limits = limits;
        this.value = new SkippedValue(depth);
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (true) {
            int from = json.position();
            Token token = json.next();
            keep(json.window(), from, json.position());
            if (token == Token.NEED_MORE) {
                return false;
            }
            if (value.ends(token, json)) {
                return true;
            }
        }
    }

    private void keep(byte[] window, int from, int to) {
        if (text.size() + (to - from) > limits.bodyBytes()) {
            throw check.failure(tensor, "data: at most " + limits.bodyBytes() + " bytes are taken");
        }
        text.write(window, from, to - from);
    }

    /** Bytes of the text. */
    long held() {
        return text.size();
    }

    /** The tokens of the value, from its first. */
    JsonTokenizer tokens() {
        byte[] kept = text.toByteArray();
        int colon = 0;
        while (kept[colon] != ':') {
            colon++;
        }
        JsonTokenizer json = new JsonTokenizer(limits);
        json.feed(Unpooled.wrappedBuffer(kept), colon + 1, kept.length - colon - 1);
        json.last();
        return json;
    }
}
