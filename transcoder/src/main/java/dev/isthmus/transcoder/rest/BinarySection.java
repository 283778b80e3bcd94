package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.TensorCheck;
import io.netty.buffer.ByteBuf;
import java.util.List;

/** The bytes after the JSON: assigns them, uncopied and in order, to the tensors that announced them. */
final class BinarySection {
    private final TensorCheck check;
    private final List<TensorBuilder> tensors;
    private int tensor;
    private long taken;

    /** @param tensors the tensors of the JSON, which is complete when the first bytes are added */
    BinarySection(TensorCheck check, List<TensorBuilder> tensors) {
        this.check = check;
        this.tensors = tensors;
    }

    /** Adds the chunk's bytes (borrowed) from this index on. */
    void add(ByteBuf chunk, int from) {
        int at = from;
        skipFull();
        while (at < chunk.writerIndex() && tensor < tensors.size()) {
            TensorBuilder builder = tensors.get(tensor);
            int part = (int) Math.min(builder.binarySize() - taken, chunk.writerIndex() - at);
            ByteBuf data = chunk.retainedDuplicate();
            // The duplicate of a slice may have the indices of the underlying buffer.
            int shift = data.readerIndex() - chunk.readerIndex();
            builder.addBinary(data.setIndex(at + shift, at + shift + part));
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

    /** Requires that every tensor has received its announced bytes. */
    void requireComplete() {
        skipFull();
        if (tensor < tensors.size()) {
            TensorBuilder builder = tensors.get(tensor);
            throw check.failure(
                    builder.name(),
                    "a binary_data_size of " + builder.binarySize() + " is announced, but " + taken + " bytes follow");
        }
    }

    private void skipFull() {
        while (tensor < tensors.size() && taken == tensors.get(tensor).binarySize()) {
            tensor++;
            taken = 0;
        }
    }
}
