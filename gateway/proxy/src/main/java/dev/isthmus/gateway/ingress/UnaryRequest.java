package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.HeadEnd;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.RawRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * The message of a unary call: whole, or, where it is that of an inference, large, and such that it can be checked while it
 * comes, in parts from when its head is there.
 */
final class UnaryRequest {
    /** How many tensors are taken is looked at when the call is open. */
    private static final WireLimits LIMITS = WireLimits.DEFAULT.withTensors(Integer.MAX_VALUE);

    private final GrpcDeframer deframer;
    private final ByteBufAllocator allocator;
    /** While the head of the message is looked for. */
    private @Nullable HeadEnd head;
    /** Of the message that is open. */
    private long length = GrpcDeframer.NOT_OPENED;

    private @Nullable ByteBuf come;
    private boolean complete;

    /**
     * Nothing has come yet.
     *
     * @param deframer is given what comes
     * @param inference whether the message is a ModelInferRequest
     */
    UnaryRequest(GrpcDeframer deframer, boolean inference, ByteBufAllocator allocator) {
        this.deframer = deframer;
        this.allocator = allocator;
        this.head = inference ? new HeadEnd() : null;
    }

    /**
     * Takes what has come out of the deframer.
     *
     * @throws OipException as of {@link GrpcDeframer#next}; INTERNAL for more than one message
     */
    void read() {
        if (length < 0 && head != null && !complete) {
            length = deframer.open(GrpcDeframer.LARGE);
        }
        if (length >= 0 && !complete) {
            ByteBuf part = deframer.part();
            if (part != null) {
                add(part);
            }
            complete = deframer.missing() == 0;
        }
        if (length < 0 || complete) {
            whole();
        }
    }

    private void whole() {
        for (ByteBuf message = deframer.next(); message != null; message = deframer.next()) {
            if (complete) {
                message.release();
                throw new OipException(ErrorCode.INTERNAL, "gRPC: one message is expected on a unary call, got more");
            }
            complete = true;
            come = message;
        }
    }

    private void add(ByteBuf part) {
        ByteBuf before = come;
        come = before == null ? SmallParts.kept(allocator, part) : SmallParts.join(allocator, before, part);
    }

    /** The operation of a message whose head has come and which need not be complete; null while there is none. */
    @Nullable
    Operation early() {
        ByteBuf begun = come;
        HeadEnd end = head;
        if (length < 0 || complete || begun == null || end == null) {
            return null;
        }
        int headLength = end.in(begun);
        if (headLength == HeadEnd.NOT_YET) {
            return null;
        }
        head = null;
        return headLength == HeadEnd.NONE ? null : operation(begun.slice(begun.readerIndex(), headLength));
    }

    private @Nullable Operation operation(ByteBuf wholeHead) {
        try {
            RawRequest raw = RawRequest.of(wholeHead, length, LIMITS);
            if (raw == null) {
                return null;
            }
            ProtobufReader.Outline outline = ProtobufReader.Outline.ofHead(wholeHead);
            return new Operation.Infer(outline.model(), new BodyForm.ProtobufForm(outline, raw), false);
        } catch (OipException invalid) {
            // It is refused as any other is, when it is complete.
            return null;
        }
    }

    /** Whether all of the message has come. */
    boolean complete() {
        return complete;
    }

    /** Whether anything has come that was not taken. */
    boolean hasPart() {
        return come != null;
    }

    /** Bytes that have come and were not taken, complete or not. */
    int bytes() {
        return deframer.bytes() + (come == null ? 0 : come.readableBytes());
    }

    /** What has come, owned by the caller. */
    ByteBuf take() {
        ByteBuf taken = come;
        come = null;
        return taken == null ? Unpooled.EMPTY_BUFFER : SmallParts.complete(taken);
    }

    /** Gives back what has come; may be called more than once. */
    void release() {
        take().release();
    }
}
