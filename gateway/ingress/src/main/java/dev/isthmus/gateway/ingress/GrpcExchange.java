package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.HopCount;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.grpc.MessagePrefix;
import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.protobuf.StreamEnvelope;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.util.AsciiString;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** One gRPC call, unary or streaming, the same over HTTP/2 and gRPC-Web. */
final class GrpcExchange extends CallExchange {
    private final GrpcTransport transport;
    private final ByteBufAllocator allocator;
    private @Nullable OpenedGrpcCall opened;
    private @Nullable AsciiString id;
    private Map<String, String> returned = Map.of();
    /** Requests of a stream without a response yet, assuming one response each. */
    private int pendingRequests;

    /** The client has ended its request. */
    private boolean requestEnded;

    private boolean headersSent;

    /** @param calls receives the call, or the rejection of the request */
    GrpcExchange(
            GrpcTransport transport,
            ByteBufAllocator allocator,
            IngressSettings settings,
            CallContext context,
            Service calls) {
        super(settings, context, calls);
        this.transport = transport;
        this.allocator = allocator;
    }

    @Override
    public void open(RequestHead head, Channel channel) {
        try {
            transport.check(head);
            HopCount.check(head.forwarded(settings.forwarded()), settings.maxHops());
            GrpcRequestHead requestHead = head.call();
            calls.checkHead(context, requestHead.method().permission());
            OpenedGrpcCall call = new OpenedGrpcCall(head, requestHead);
            opened = call;
            if (call.stream()) {
                sink = start(call, requestHead.method().operation(call.form));
            }
        } catch (OipException failure) {
            reject(failure);
        }
    }

    private RequestSink start(OpenedGrpcCall call, Operation operation) {
        return calls.open(new Call(operation, call.deadline, call.head.forwarded(settings.forwarded()), context), this);
    }

    @Override
    public void data(ByteBuf chunk) {
        OpenedGrpcCall call = opened;
        if (responded || call == null) {
            chunk.release();
            return;
        }
        try {
            call.deframer.add(transport.decode(chunk));
            if (call.leftOver) {
                memory.gathered(call.request.bytes());
            } else {
                read(call);
            }
        } catch (RuntimeException | OutOfMemoryError thrown) {
            failCall(CallLog.failureOf(thrown, context));
        }
    }

    /** Reads what was received, until the turn is over or the call accepts no more. */
    private void read(OpenedGrpcCall call) {
        call.leftOver = false;
        RequestSink to = sink;
        if (!call.stream()) {
            unary(call);
        } else if (to != null) {
            for (ByteBuf message = call.next(to); message != null; message = responded ? null : call.next(to)) {
                pendingRequests++;
                to.data(message);
            }
        }
        if (!responded) {
            call.endTurn(call.stream() ? to : null);
            memory.gathered(call.request.bytes());
        }
    }

    private void readOn(OpenedGrpcCall call) {
        if (responded) {
            return;
        }
        try {
            read(call);
            if (responded || call.leftOver) {
                return;
            }
            if (requestEnded) {
                end();
            } else if (!paused()) {
                transport.resumeRequest();
            }
        } catch (RuntimeException | OutOfMemoryError thrown) {
            failCall(CallLog.failureOf(thrown, context));
        }
    }

    /** Dispatches a message when it is complete; a large one when its head is. */
    private void unary(OpenedGrpcCall call) {
        call.request.read(call);
        RequestSink to = sink;
        if (to == null) {
            Operation early = call.request.early();
            if (early == null) {
                return;
            }
            to = start(call, early);
            sink = to;
        }
        if (!responded && call.request.hasPart()) {
            memory.dispatched();
            to.data(call.request.take());
        }
    }

    @Override
    public boolean paused() {
        return !responded && ((opened != null && opened.leftOver) || (sink != null && !sink.isReady()));
    }

    @Override
    public PeerWait awaited(boolean began) {
        OpenedGrpcCall call = opened;
        if (responded || call == null || paused()) {
            return PeerWait.NOTHING;
        }
        if (call.stream()) {
            boolean half = call.deframer.partial();
            return half ? PeerWait.BODY : pendingRequests > 0 ? PeerWait.NOTHING : PeerWait.ANYTHING;
        }
        return began ? PeerWait.BODY : PeerWait.ANYTHING;
    }

    @Override
    public void onReady() {
        OpenedGrpcCall call = opened;
        if (!responded && call != null && call.leftOver) {
            call.readLeftOver(true);
        } else {
            transport.resumeRequest();
        }
    }

    @Override
    public void end() {
        OpenedGrpcCall call = opened;
        requestEnded = true;
        if (responded || call == null || call.leftOver) {
            return;
        }
        RequestSink to = sink;
        if (transport.partial() || call.partial()) {
            failCall(OipException.misframed("gRPC: the request ended before its message was complete"));
        } else if (to != null) {
            to.end();
        } else {
            dispatch(call, call.request.take());
        }
    }

    private void dispatch(OpenedGrpcCall call, ByteBuf message) {
        Operation operation;
        try {
            operation = call.requestHead.method().operation(message);
        } catch (OipException failure) {
            message.release();
            reject(failure);
            return;
        }
        RequestSink to = start(call, operation);
        sink = to;
        memory.dispatched();
        to.data(message);
        if (!responded) {
            to.end();
        }
    }

    @Override
    public boolean isReady() {
        return transport.isWritable();
    }

    @Override
    public boolean acceptsParts(Wire wire, long length) {
        OpenedGrpcCall call = opened;
        return !responded && call != null && !call.stream() && call.requestHead.coding() == null;
    }

    @Override
    public void identified(AsciiString own) {
        id = own;
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!responded && !headers.isEmpty()) {
            returned = RestResponse.merged(returned, headers);
        }
    }

    @Override
    public void message(ReplyMessage message) {
        OpenedGrpcCall call = opened;
        if (responded || call == null) {
            message.release();
            return;
        }
        pendingRequests = Math.max(0, pendingRequests - 1);
        if (message instanceof ReplyMessage.StreamError error) {
            if (call.form == StreamMessageForm.OIP || call.requestHead.statusOfErrors()) {
                failCall(error.failure());
            } else {
                send(call, StreamEnvelope.error(allocator, error.failure().message(), error.id()));
            }
            return;
        }
        if (message instanceof ReplyMessage.Part part) {
            forward(call, part);
            return;
        }
        ByteBuf plain = GrpcResponses.encode(message);
        boolean enveloped = call.stream() && call.form == StreamMessageForm.TRITON;
        send(call, enveloped ? StreamEnvelope.wrap(allocator, plain) : plain);
    }

    /** Sends the message (taken). */
    private void send(OpenedGrpcCall call, ByteBuf message) {
        write(call, GrpcResponses.frame(message, call.requestHead.coding(), allocator));
    }

    /** Writes the bytes (taken). Fails the call if there is no memory for them. */
    private void write(OpenedGrpcCall call, ByteBuf out) {
        try {
            memory.response(transport.queued() + transport.memoryToSend(out.readableBytes()));
        } catch (OipException refused) {
            out.release();
            failCall(refused);
            return;
        }
        head(call);
        transport.send(out);
        memory.queued(transport.queued());
    }

    private void head(OpenedGrpcCall call) {
        if (!headersSent) {
            headersSent = true;
            transport.head(call.requestHead.coding(), id, takeReturned());
        }
    }

    /** Forwards the part (taken). */
    private void forward(OpenedGrpcCall call, ReplyMessage.Part part) {
        ByteBuf bytes = part.bytes();
        write(call, headersSent ? bytes : MessagePrefix.before(bytes, part.length(), allocator));
    }

    /** The upstream's headers: sent in the response headers if received by then, else in the trailers. */
    private Map<String, String> takeReturned() {
        Map<String, String> taken = returned;
        returned = Map.of();
        return taken;
    }

    /** What the trailers have of the upstream's headers, with the id of the call if there were no response headers. */
    private Map<String, String> takeLast() {
        return headersSent || id == null
                ? takeReturned()
                : RestResponse.merged(Map.of(HeaderAllowList.REQUEST_ID, id.toString()), takeReturned());
    }

    @Override
    public void complete() {
        OpenedGrpcCall call = opened;
        if (responded || call == null) {
            return;
        }
        if (!headersSent && !call.stream()) {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's response has no message"));
            return;
        }
        responded = true;
        discard();
        transport.complete(headersSent, takeLast());
    }

    @Override
    public void fail(OipException failure) {
        if (responded) {
            return;
        }
        responded = true;
        discard();
        transport.fail(failure, headersSent, RestResponse.merged(takeLast(), settings.causeHeader(context)));
    }

    @Override
    long queued() {
        return transport.queued();
    }

    @Override
    void discard() {
        if (opened != null) {
            opened.request.release();
            opened.deframer.release();
        }
        memory.gathered(0);
        memory.request(0);
    }

    /**
     * A call whose headers were accepted. It divides the messages of its request among the {@link Turn turns} of its
     * connection: those of a stream, of which a few bytes may contain thousands, and compressed ones, of which a few bytes
     * may inflate to many. What is left over stays in the deframer, until the next turn or until the call accepts more.
     */
    private final class OpenedGrpcCall implements BooleanSupplier {
        final RequestHead head;
        final GrpcRequestHead requestHead;
        final long deadline;
        final StreamMessageForm form;
        final GrpcDeframer deframer;
        final UnaryRequest request;
        /** Whether received data waits; more must only be added to the deframer meanwhile. */
        boolean leftOver;
        /** Whether it waits for the call, otherwise for the next turn. */
        private boolean forCall;
        /** Bytes of the message being inflated that were charged. */
        private int charged;

        OpenedGrpcCall(RequestHead head, GrpcRequestHead requestHead) {
            this.head = head;
            this.requestHead = requestHead;
            this.deadline = requestHead.deadline();
            this.form = requestHead.form(settings.streamForm());
            this.deframer =
                    new GrpcDeframer(allocator, requestHead.method().limits(settings.bodies()), requestHead.coding());
            this.request = new UnaryRequest(deframer, requestHead.method().inference(), allocator);
        }

        boolean stream() {
            return requestHead.method().streams();
        }

        /** Whether a message is incomplete, or the only message has not begun. */
        boolean partial() {
            return deframer.partial() || (!stream() && !request.complete());
        }

        /** The next message of a stream; null if it is incomplete, the turn is over or the call is not ready. */
        @Nullable
        ByteBuf next(RequestSink to) {
            ByteBuf message = to.isReady() && !transport.turn().over() ? deframer.next(this) : null;
            if (message != null) {
                transport.turn().took();
                transport.turn().tookBytes(message.readableBytes());
            }
            return message;
        }

        /**
         * Everything was read, or as much as possible now.
         *
         * @param to receives the messages of a stream; null for a unary call
         */
        void endTurn(@Nullable RequestSink to) {
            boolean unread = to == null ? deframer.unfinished() : deframer.partial();
            forCall = to != null && !to.isReady();
            leftOver = unread && (forCall || transport.turn().over());
            if (leftOver && !forCall) {
                transport.inNextTurn(() -> readLeftOver(false));
            }
        }

        /** @param ready whether the call accepts more; otherwise the next turn begins */
        void readLeftOver(boolean ready) {
            if (leftOver && forCall == ready) {
                readOn(this);
            }
        }

        /** Whether one more step of a message may be inflated; charges the turn for the steps before. */
        @Override
        public boolean getAsBoolean() {
            Turn turn = transport.turn();
            int inflated = deframer.inflatedBytes();
            turn.took();
            turn.tookBytes(Math.max(0, inflated - charged));
            charged = inflated;
            return !turn.over();
        }
    }
}
