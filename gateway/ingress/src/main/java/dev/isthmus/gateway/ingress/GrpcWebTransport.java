package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.Base64Decoder;
import dev.isthmus.gateway.grpc.Base64Encoder;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcWebForm;
import dev.isthmus.gateway.grpc.MessagePrefix;
import dev.isthmus.gateway.ingress.GrpcResponses.GrpcResponseFields;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.util.AsciiString;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * gRPC-Web: the messages of a call in an HTTP body of any version, with the trailers as the last frame of the response
 * (gRPC, PROTOCOL-WEB.md). Browsers send the whole request before they read the response.
 */
final class GrpcWebTransport implements GrpcTransport {
    private static final int OK = 200;
    private static final String CONTENT_TYPE = HttpHeaderNames.CONTENT_TYPE.toString();

    private final ResponseWriter writer;
    private final ByteBufAllocator allocator;
    private final Turn turn;
    private GrpcWebForm form = GrpcWebForm.BINARY;
    private @Nullable Base64Decoder decoder;
    /** Reads on in the next turn. */
    private @Nullable Runnable next;
    /** Bytes of the message being sent that were not written yet. */
    private long missing;

    GrpcWebTransport(ResponseWriter writer, Channel channel) {
        this.writer = writer;
        this.allocator = channel.alloc();
        this.turn = new Turn(channel.eventLoop(), this::turnBegins);
    }

    @Override
    public void check(RequestHead head) {
        String type = head.field(HttpHeaderNames.CONTENT_TYPE);
        GrpcWebForm request = GrpcWebForm.ofRequest(type == null ? "" : type);
        form = request.ofResponse(head.all(HttpHeaderNames.ACCEPT));
        decoder = request == GrpcWebForm.TEXT ? new Base64Decoder(allocator) : null;
        if (head.compressed()) {
            throw new OipException(
                    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                    "header Content-Encoding: none is expected with gRPC-Web, whose messages are compressed by "
                            + "grpc-encoding, got '" + String.join(", ", head.codings()) + "'");
        }
    }

    @Override
    public ByteBuf decode(ByteBuf chunk) {
        if (decoder == null) {
            return chunk;
        }
        turn.tookBytes(chunk.readableBytes());
        return decoder.decode(chunk);
    }

    @Override
    public boolean partial() {
        return decoder != null && decoder.partial();
    }

    @Override
    public void head(@Nullable ContentCoding coding, @Nullable AsciiString id, Map<String, String> returned) {
        Map<String, String> fields = new LinkedHashMap<>(returned);
        if (id != null) {
            fields.putIfAbsent(HeaderAllowList.REQUEST_ID, id.toString());
        }
        fields.put(GrpcNames.ACCEPT_ENCODING.toString(), ContentCoding.ACCEPTED_BY_GRPC);
        if (coding != null) {
            fields.put(GrpcNames.ENCODING.toString(), coding.token());
        }
        writer.begin(response(fields));
    }

    @Override
    public long memoryToSend(int bytes) {
        return form == GrpcWebForm.TEXT ? bytes + Base64Encoder.length(bytes) : bytes;
    }

    @Override
    public void send(ByteBuf message) {
        if (missing == 0) {
            missing = MessagePrefix.BYTES + message.getUnsignedInt(message.readerIndex() + 1);
        }
        missing -= message.readableBytes();
        writer.part(encoded(message));
    }

    @Override
    public void complete(boolean headSent, Map<String, String> returned) {
        end(headSent, GrpcResponseFields.trailers(returned));
    }

    @Override
    public void fail(OipException failure, boolean headSent, Map<String, String> returned) {
        if (missing > 0) {
            // Trailers would be read as the rest of the message.
            writer.abort();
        } else {
            end(headSent, GrpcResponseFields.trailers(failure, returned));
        }
    }

    private void end(boolean headSent, Map<String, String> trailers) {
        if (!headSent) {
            writer.respond(response(trailers));
            return;
        }
        ByteBuf last;
        try {
            last = encoded(GrpcWebForm.trailers(trailers, allocator));
        } catch (OutOfMemoryError exhausted) {
            // The call has ended: without this its client would wait for the end of the response.
            writer.abort();
            return;
        }
        writer.part(last);
        writer.endBody();
    }

    private RestResponse response(Map<String, String> fields) {
        return new RestResponse(OK, Unpooled.EMPTY_BUFFER, fields).with(CONTENT_TYPE, form.contentType());
    }

    /** The bytes (taken) in the form of the response. */
    private ByteBuf encoded(ByteBuf bytes) {
        return form == GrpcWebForm.TEXT ? Base64Encoder.encode(bytes, allocator) : bytes;
    }

    @Override
    public long queued() {
        return writer.queued();
    }

    @Override
    public boolean isWritable() {
        return writer.isWritable();
    }

    @Override
    public void resumeRequest() {
        writer.resumeRequest();
    }

    @Override
    public Turn turn() {
        return turn;
    }

    @Override
    public void inNextTurn(Runnable task) {
        next = task;
    }

    private void turnBegins() {
        Runnable task = next;
        next = null;
        if (task != null) {
            task.run();
        }
    }
}
