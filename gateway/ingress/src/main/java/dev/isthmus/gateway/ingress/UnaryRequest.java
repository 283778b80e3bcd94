package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.RawRequest;
import dev.isthmus.transcoder.protobuf.RequestHeadFinder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The message of a unary call. A large inference request that can be checked while it arrives is passed on in parts
 * once its head is complete; any other message is passed on whole.
 */
final class UnaryRequest {
    /** The number of tensors is checked when the call is opened. */
    private static final WireLimits LIMITS = WireLimits.DEFAULT.withTensors(Integer.MAX_VALUE);

    private final GrpcDeframer deframer;
    private final ByteBufAllocator allocator;
    /** Set while the end of the message's head is searched. */
    private @Nullable RequestHeadFinder head;
    /** Length of the message being read. */
    private long length = GrpcDeframer.NOT_OPENED;

    private @Nullable ByteBuf received;
    private boolean complete;

    /**
     * Creates an empty request.
     *
     * @param deframer receives the data
     * @param inference whether the message is a ModelInferRequest
     */
    UnaryRequest(GrpcDeframer deframer, boolean inference, ByteBufAllocator allocator) {
        this.deframer = deframer;
        this.allocator = allocator;
        this.head = inference ? new RequestHeadFinder() : null;
    }

    /**
     * Reads what the deframer has received.
     *
     * @param more as in {@link GrpcDeframer#next(BooleanSupplier)}
     * @throws OipException as {@link GrpcDeframer#next} does; INTERNAL for more than one message
     */
    void read(BooleanSupplier more) {
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
            whole(more);
        }
    }

    private void whole(BooleanSupplier more) {
        for (ByteBuf message = deframer.next(more); message != null; message = deframer.next(more)) {
            if (complete) {
                message.release();
                throw OipException.misframed("gRPC: one message is expected on a unary call, got more");
            }
            complete = true;
            received = message;
        }
    }

    private void add(ByteBuf part) {
        ByteBuf before = received;
        received = before == null ? SmallParts.kept(allocator, part) : SmallParts.join(allocator, before, part);
    }

    /** The operation of a message that can be passed on in parts, once its head is complete; null before that. */
    @Nullable
    Operation early() {
        ByteBuf partial = received;
        RequestHeadFinder end = head;
        if (length < 0 || complete || partial == null || end == null) {
            return null;
        }
        int headLength = end.in(partial);
        if (headLength == RequestHeadFinder.NOT_YET) {
            return null;
        }
        head = null;
        return headLength == RequestHeadFinder.NONE
                ? null
                : operation(partial.slice(partial.readerIndex(), headLength));
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
            // It is rejected like any other message once it is complete.
            return null;
        }
    }

    /** Whether the message is complete. */
    boolean complete() {
        return complete;
    }

    /** Whether received bytes have not been taken. */
    boolean hasPart() {
        return received != null;
    }

    /** Received bytes that have not been taken, complete or not. */
    int bytes() {
        return deframer.bytes() + (received == null ? 0 : received.readableBytes());
    }

    /** Returns the received bytes, owned by the caller. */
    ByteBuf take() {
        ByteBuf taken = received;
        received = null;
        return taken == null ? Unpooled.EMPTY_BUFFER : SmallParts.complete(taken);
    }

    /** Releases the received bytes. Idempotent. */
    void release() {
        take().release();
    }
}
