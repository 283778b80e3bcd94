package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.net.Turn;
import io.netty.buffer.ByteBuf;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Divides the messages of one gRPC request among the {@link Turn turns} of its connection: those of a stream, of which
 * a few bytes may contain thousands, and compressed ones, of which a few bytes may inflate to many. What is left over
 * stays in the deframer, until the next turn or until the call accepts more.
 */
final class RequestTurns implements BooleanSupplier {
    private final GrpcTransport transport;
    private final GrpcDeframer deframer;
    private final GrpcExchange exchange;
    /** Whether received data waits, and whether it waits for the call, otherwise for the next turn. */
    private boolean leftOver;

    private boolean forCall;
    /** Bytes of the message being inflated that were charged. */
    private int charged;

    /** @param exchange reads what was left over */
    RequestTurns(GrpcTransport transport, GrpcDeframer deframer, GrpcExchange exchange) {
        this.transport = transport;
        this.deframer = deframer;
        this.exchange = exchange;
    }

    /** Whether received data waits. More must only be added to the deframer meanwhile. */
    boolean leftOver() {
        return leftOver;
    }

    void begin() {
        leftOver = false;
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
    void end(@Nullable RequestSink to) {
        boolean unread = to == null ? deframer.unfinished() : deframer.partial();
        forCall = to != null && !to.isReady();
        leftOver = unread && (forCall || transport.turn().over());
        if (leftOver && !forCall) {
            transport.inNextTurn(this::inNextTurn);
        }
    }

    private void inNextTurn() {
        if (leftOver && !forCall) {
            exchange.readOn();
        }
    }

    /** The call accepts more. */
    void callIsReady() {
        if (leftOver && forCall) {
            exchange.readOn();
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
