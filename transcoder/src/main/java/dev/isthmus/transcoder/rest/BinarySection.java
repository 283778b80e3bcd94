package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.TensorCheck;
import io.netty.buffer.ByteBuf;
import java.util.List;

/** The bytes behind the JSON: gives them, uncopied, to the tensors that announced them, in order. */
final class BinarySection {
    private final TensorCheck check;
    private final List<TensorBuilder> tensors;
    private int tensor;
    private long taken;

    /** A tail of a message whose JSON, when it is complete, has made these tensors. */
    BinarySection(TensorCheck check, List<TensorBuilder> tensors) {
        this.check = check;
        this.tensors = tensors;
    }

    /** Takes what the chunk (borrowed) has from this index on. */
    void add(ByteBuf chunk, int from) {
        int at = from;
        skipFull();
        while (at < chunk.writerIndex() && tensor < tensors.size()) {
            TensorBuilder draft = tensors.get(tensor);
            int part = (int) Math.min(draft.binarySize() - taken, chunk.writerIndex() - at);
            draft.addBinary(chunk.retainedDuplicate().setIndex(at, at + part));
            at += part;
            taken += part;
            skipFull();
        }
        if (at < chunk.writerIndex()) {
            throw new OipException(
                    check.code(),
                    "the body has " + (chunk.writerIndex() - at)
                            + " bytes or more beyond what binary_data_size announces");
        }
    }

    /** That every tensor has got what it announced. */
    void requireComplete() {
        skipFull();
        if (tensor < tensors.size()) {
            TensorBuilder draft = tensors.get(tensor);
            throw check.failure(
                    draft.name(),
                    "a binary_data_size of " + draft.binarySize() + " is announced, but " + taken + " bytes follow");
        }
    }

    private void skipFull() {
        while (tensor < tensors.size() && taken == tensors.get(tensor).binarySize()) {
            tensor++;
            taken = 0;
        }
    }
}
