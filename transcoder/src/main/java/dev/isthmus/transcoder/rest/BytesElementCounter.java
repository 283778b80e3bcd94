package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.message.TensorCheck;
import io.netty.buffer.ByteBuf;

/** Counts the elements of a BYTES tensor's raw form, received in parts, by their lengths. Retains nothing. */
final class BytesElementCounter {
    /** The bytes read of an incomplete length. */
    private int lengthBytes;

    private long length;
    /** The missing bytes of the current element. */
    private long missing;

    private long count;

    /** Counts the next part (borrowed). */
    void add(ByteBuf part) {
        int at = part.readerIndex();
        int end = part.writerIndex();
        while (at < end) {
            if (missing > 0) {
                int skipped = (int) Math.min(missing, end - at);
                at += skipped;
                missing -= skipped;
            } else if (lengthBytes == 0 && end - at >= Integer.BYTES) {
                begin(part.getUnsignedIntLE(at));
                at += Integer.BYTES;
            } else {
                length |= (part.getByte(at) & 0xffL) << (Byte.SIZE * lengthBytes);
                at++;
                lengthBytes++;
                if (lengthBytes == Integer.BYTES) {
                    begin(length);
                }
            }
        }
    }

    private void begin(long elementLength) {
        count++;
        missing = elementLength;
        length = 0;
        lengthBytes = 0;
    }

    /** Requires that it is complete, with as many elements as the shape says. */
    void requireComplete(TensorCheck check, String tensor, Shape shape) {
        if (lengthBytes > 0) {
            throw check.failure(tensor, "BYTES element " + count + " ends within its length");
        }
        if (missing > 0) {
            throw check.failure(
                    tensor, "BYTES element " + (count - 1) + " is " + missing + " bytes longer than its data");
        }
        long expected = check.elementCount(tensor, shape);
        if (count != expected) {
            throw check.failure(tensor, "shape " + shape + " of BYTES needs " + expected + " elements, got " + count);
        }
    }
}
