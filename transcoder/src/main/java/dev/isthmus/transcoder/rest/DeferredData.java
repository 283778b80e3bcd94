package dev.isthmus.transcoder.rest;

import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.RetainedText;
import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.Unpooled;

/** A tensor's {@code data} that comes before its datatype: its text, kept until it can be read. */
final class DeferredData implements ValueReader {
    private final TensorCheck check;
    private final String tensor;
    private final WireLimits limits;
    private final RetainedText text;

    /** @param depth of the tensor's object in the document */
    DeferredData(TensorCheck check, String tensor, WireLimits limits, int depth) {
        this.check = check;
        this.tensor = tensor;
        this.limits = limits;
        this.text = new RetainedText(new SkippedValue(depth, true));
    }

    @Override
    public boolean read(JsonTokenizer json) {
        boolean complete = text.read(json);
        if (text.size() > limits.bodyBytes()) {
            throw check.failure(tensor, "data: at most " + limits.bodyBytes() + " bytes are taken");
        }
        return complete;
    }

    /** Bytes of the text. */
    long held() {
        return text.size();
    }

    /** The tokens of the value, from its first. */
    JsonTokenizer tokens() {
        byte[] kept = text.utf8();
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
