package dev.isthmus.transcoder.rest;

import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.RetainedText;
import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;

/** A tensor's {@code data} that precedes its datatype: its text is retained until it can be read. */
final class DeferredData implements ValueReader {
    private final TensorCheck check;
    private final String tensor;
    private final WireLimits limits;
    private final RetainedText text;

    /** @param depth the depth of the tensor's object in the document */
    DeferredData(TensorCheck check, String tensor, WireLimits limits, int depth, HeldMemory held) {
        this.check = check;
        this.tensor = tensor;
        this.limits = limits;
        this.text = new RetainedText(SkippedValue.lenient(depth), held::data);
    }

    @Override
    public boolean read(JsonTokenizer json) {
        boolean complete = text.read(json);
        if (text.size() > limits.bodyBytes()) {
            throw check.tooLarge(tensor, limits.bodyBytes());
        }
        return complete;
    }

    /** A tokenizer of the value. */
    JsonTokenizer tokens() {
        return text.tokens(limits);
    }

    /** Releases the text. */
    void release() {
        text.release();
    }
}
