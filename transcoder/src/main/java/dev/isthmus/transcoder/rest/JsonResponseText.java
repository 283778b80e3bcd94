package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.message.NonFinite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * An answer for the REST wire that is yet to be written, as a whole or, where it is JSON only, a part at a time. Owns the
 * answer until it was written as a whole, or was {@link #release()}d.
 */
public final class JsonResponseText {
    /** Tensors of fewer bytes are not worth writing in parts. */
    private static final long LARGE = 1 << 20;

    /** Of a tensor that are written at once, in bytes: about three times as much text. */
    private static final int STEP = 32 << 10;

    /** A part is not much longer, in bytes. */
    private static final int PART = 128 << 10;

    private final ByteBufAllocator allocator;
    private final InferResponse response;
    private final OutputForms forms;
    private @Nullable JsonWriter json;
    /** The output that is being written. */
    private int output;
    /** Where its next element is; -1 before its first. */
    private int at = -1;

    private boolean base64;
    private boolean over;

    /** @param response taken */
    public JsonResponseText(ByteBufAllocator allocator, InferResponse response, OutputForms forms) {
        this.allocator = allocator;
        this.response = response;
        this.forms = forms;
    }

    /** The whole answer; nothing else can be had of it then. */
    public RestBody whole() {
        over = true;
        return RestWriter.response(allocator, response, forms);
    }

    /** Whether it is large, and can be written in parts. */
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

    /** Bytes of the tensors. */
    public long bytes() {
        long bytes = 0;
        for (Tensor tensor : response.outputs()) {
            bytes += tensor.data().readableBytes();
        }
        return bytes;
    }

    /** The next part of the JSON, owned by the caller; null where there was the last. */
    public @Nullable ByteBuf next() {
        if (over) {
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

    /** Writes some more of a tensor. */
    private void write(Tensor tensor, JsonWriter to) {
        if (at < 0) {
            base64 = RestWriter.base64(tensor, forms);
            RestWriter.beforeData(to, tensor, base64);
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

    /** Gives back what is held; may be called at any time and more than once. */
    public void release() {
        if (!over) {
            over = true;
            if (json != null) {
                json.release();
            }
            response.release();
        }
    }
}
