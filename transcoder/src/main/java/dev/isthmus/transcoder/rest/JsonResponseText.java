package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.message.NonFinite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * A response to be written for the REST wire, as a whole or, if it is JSON only, in parts. Owns the response until it
 * is written completely or {@link #release()} is called.
 */
public final class JsonResponseText {
    /** Smaller responses are not written in parts, in bytes of tensor data. */
    private static final long LARGE = 1 << 20;

    /** The bytes of a tensor written at once, which yield about three times as much text. */
    private static final int STEP = 32 << 10;

    /** The approximate size of a part, in bytes. */
    private static final int PART = 128 << 10;

    private final ByteBufAllocator allocator;
    private final InferResponse response;
    private final OutputForms forms;
    private @Nullable JsonWriter json;
    /** The index of the output being written. */
    private int output;
    /** The index of its next element's bytes; -1 before its first. */
    private int at = -1;

    private boolean base64;
    private boolean finished;

    /** @param response taken */
    public JsonResponseText(ByteBufAllocator allocator, InferResponse response, OutputForms forms) {
        this.allocator = allocator;
        this.response = response;
        this.forms = forms;
    }

    /** The whole response; nothing may be written afterwards. */
    public RestBody whole() {
        finished = true;
        return RestWriter.response(allocator, response, forms);
    }

    /** Whether it is large and can be written in parts. */
    public boolean inParts() {
        if (forms.nonFinite() == NonFinite.ERROR) {
            return false;
        }
        for (Tensor tensor : response.outputs()) {
            if (tensor.shared() || forms.binary(tensor.name())) {
                return false;
            }
        }
        return bytes() > LARGE;
    }

    /** The size of the tensors, in bytes. */
    public long bytes() {
        return Tensor.bytes(response.outputs());
    }

    /** The next part of the JSON, owned by the caller; null after the last. */
    public @Nullable ByteBuf next() {
        if (finished) {
            return null;
        }
        JsonWriter to = json;
        if (to == null) {
            to = new JsonWriter(allocator);
            json = to;
            RestWriter.head(to, response);
            to.key("outputs").open('[');
        }
        while (output < response.outputs().size() && to.out().readableBytes() < PART) {
            write(response.outputs().get(output), to);
        }
        if (output < response.outputs().size()) {
            return to.takePart(PART + PART / 2);
        }
        to.close(']').close('}');
        ByteBuf last = to.take();
        release();
        return last;
    }

    /** Writes the next step of a tensor. */
    private void write(Tensor tensor, JsonWriter to) {
        if (at < 0) {
            base64 = RestWriter.base64(tensor, forms);
            RestWriter.openTensor(to, tensor, base64);
            to.open('[');
            at = tensor.data().readerIndex();
        }
        at = TensorText.elements(tensor, at, STEP, base64, forms.nonFinite(), to);
        if (at >= tensor.data().writerIndex()) {
            to.close(']').close('}');
            output++;
            at = -1;
        }
    }

    /** Releases the response and the part being written; idempotent. */
    public void release() {
        if (!finished) {
            finished = true;
            if (json != null) {
                json.release();
            }
            response.release();
        }
    }
}
