package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.health.HealthCheckResponse;
import dev.isthmus.proto.health.HealthCheckResponse.ServingStatus;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A call of gRPC's health service: translates a readiness operation to a HealthCheckResponse. Check responds once.
 * Watch responds now and at each change, until the client cancels it, its deadline expires, or the gateway shuts down.
 * It reads the readiness every second, which sends no requests to servers.
 */
final class HealthCheck implements RequestSink {
    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Call call;
    private final Operation.CheckHealth request;
    private final Service readiness;
    private final GatewayReadiness gateway;
    private final Reply client;
    private @Nullable ServingStatus reported;
    private @Nullable Future<?> next;
    private boolean ended;

    /** @param readiness handles the readiness operation */
    HealthCheck(Call call, Operation.CheckHealth request, Service readiness, GatewayReadiness gateway, Reply client) {
        this.call = call;
        this.request = request;
        this.readiness = readiness;
        this.gateway = gateway;
        this.client = client;
    }

    @Override
    public void data(ByteBuf chunk) {
        chunk.release();
    }

    @Override
    public void end() {
        read();
    }

    @Override
    public void cancel() {
        ended = true;
        if (next != null) {
            next.cancel(false);
        }
    }

    private void read() {
        if (ended) {
            return;
        }
        Call internal = new Call(
                request.readiness(), Call.NO_DEADLINE, Map.of(), CallContext.internal(call.loop(), call.allocator()));
        readiness.open(internal, new ReadinessReply()).end();
    }

    private void respond(ServingStatus status) {
        if (status != reported) {
            reported = status;
            client.message(new ReplyMessage.Document(Unpooled.wrappedBuffer(
                    HealthCheckResponse.newBuilder().setStatus(status).build().toByteArray())));
        }
        if (!request.watch()) {
            ended = true;
            client.complete();
        } else if (gateway.ending()) {
            fail(new OipException(ErrorCode.UNAVAILABLE, "the gateway is shutting down")
                    .because(FailureCause.SHUTDOWN));
        } else {
            readAgain();
        }
    }

    private void readAgain() {
        long left = call.hasDeadline() ? call.deadlineNanos() - System.nanoTime() : Long.MAX_VALUE;
        if (left <= 0) {
            fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, "the deadline of the call has expired"));
        } else {
            next = call.loop().schedule(this::read, Math.min(left, INTERVAL_NANOS), TimeUnit.NANOSECONDS);
        }
    }

    private void fail(OipException failure) {
        ended = true;
        client.fail(failure);
    }

    /** Receives the state of what is checked. */
    private final class ReadinessReply implements Reply {
        private boolean ready;

        @Override
        public void message(ReplyMessage message) {
            ready = switch (message) {
                case ReplyMessage.Ready state -> state.ready();
                case ReplyMessage.ModelReadyState state -> state.ready();
                default -> false;
            };
            message.release();
        }

        @Override
        public void complete() {
            if (!ended) {
                respond(ready && !gateway.ending() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
            }
        }

        @Override
        public void fail(OipException failure) {
            if (ended) {
                return;
            }
            if (failure.code() != ErrorCode.NOT_FOUND) {
                respond(ServingStatus.NOT_SERVING);
            } else if (request.watch()) {
                respond(ServingStatus.SERVICE_UNKNOWN);
            } else {
                HealthCheck.this.fail(failure);
            }
        }
    }
}
