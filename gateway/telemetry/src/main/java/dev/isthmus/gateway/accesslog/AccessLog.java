package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.accesslog.LineWriter.Member;
import dev.isthmus.gateway.accesslog.LineWriter.RepeatedText;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.logfile.BackgroundWriter;
import dev.isthmus.gateway.logfile.LogOutput;
import dev.isthmus.gateway.logfile.ModelShares;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.AccessLogConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The access log of one configuration. A line is written into memory when its call ends, into a buffer of the call's
 * event loop; a thread of its own writes the buffers to the output, so that a slow or full disk delays no call. If the
 * buffer is full, the line is dropped and counted. Thread-safe.
 */
final class AccessLog implements Reloadable.Replaced {
    private static final Logger LOG = LoggerFactory.getLogger(AccessLog.class);
    /** Largest size of one event loop's lines that are not yet taken by the thread. */
    private static final int MAX_BYTES = 1 << 20;
    /** Size of an array at first; larger ones than the second size are not used again. */
    private static final int FIRST_BYTES = 16 << 10;

    private static final int KEPT_BYTES = 256 << 10;
    /** Size from which the thread is woken. */
    private static final int WAKE_BYTES = 64 << 10;

    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final AccessLogConfig config;
    private final ModelShares shares;
    private final long slowNanos;
    private final LogOutput output;
    private final Counter written;
    private final Counter full;
    private final Counter failed;
    private final Map<EventLoop, LoopLines> buffers = new ConcurrentHashMap<>();
    private final BackgroundWriter writer = new BackgroundWriter("isthmus-access-log", this::run);
    /** Of the thread. */
    private final TakenLines taken = new TakenLines();

    /** Opens no file before there is a line. */
    AccessLog(AccessLogConfig config, MeterRegistry meters) {
        this.config = config;
        shares = new ModelShares(config.sample(), config.models());
        slowNanos = config.slow().isZero() ? Long.MAX_VALUE : config.slow().toNanos();
        output = new LogOutput(config.file(), config.rotateAt(), config.keep());
        written = Counter.builder("isthmus.access.log.lines")
                .description("Lines written to the access log")
                .register(meters);
        full = dropped(meters, "full");
        failed = dropped(meters, "io_error");
    }

    private static Counter dropped(MeterRegistry meters, String reason) {
        return Counter.builder("isthmus.access.log.dropped.lines")
                .description("Lines of the access log that were not written: full (the output is too slow), io_error")
                .tag("reason", reason)
                .register(meters);
    }

    /** Whether a call is logged: one that failed or was slow always, others by the share of their model. */
    private boolean logs(CallContext call) {
        if (call.code() != null || call.totalNanos() >= slowNanos) {
            return true;
        }
        Operation operation = call.operation();
        double wanted = shares.of(operation == null ? null : operation.requestedModel());
        return wanted >= 1 || (wanted > 0 && ThreadLocalRandom.current().nextDouble() < wanted);
    }

    /** Writes the line of a call that has ended, if it is to be logged. */
    void log(CallContext call) {
        if (!logs(call)) {
            return;
        }
        LoopLines lines = buffers.get(call.loop());
        if (lines == null) {
            lines = buffers.computeIfAbsent(call.loop(), each -> new LoopLines());
        }
        if (!lines.add(call)) {
            full.increment();
        }
    }

    private void run() {
        writer.repeat(INTERVAL_NANOS, () -> buffers.values().forEach(this::write));
        try {
            output.close();
        } catch (IOException e) {
            warn(e);
        }
    }

    private void write(LoopLines lines) {
        int count = lines.take(taken);
        if (count == 0) {
            return;
        }
        try {
            output.write(taken.bytes, taken.length);
            written.increment(count);
        } catch (IOException | OutOfMemoryError e) {
            failed.increment(count);
            warn(e);
        }
        if (taken.bytes.length > KEPT_BYTES) {
            taken.bytes = new byte[FIRST_BYTES];
        }
    }

    private void warn(Throwable failure) {
        RepeatingLogEvent.warn(LOG)
                .addKeyValue("file", config.file())
                .log(
                        "access log: lines are lost, because {} cannot be written ({}); free space or change"
                                + " 'access_log'",
                        config.file(),
                        FailureReason.of(failure));
    }

    @Override
    public BackgroundWriter writer() {
        return writer;
    }

    /** Lines that were taken from a loop, and then the array that the next loop goes on with. */
    private static final class TakenLines {
        byte[] bytes = new byte[FIRST_BYTES];
        int length;
    }

    /** The lines of one event loop. Its lock is contended only while the thread exchanges the array. */
    private final class LoopLines {
        private final LineWriter out = new LineWriter(FIRST_BYTES);
        private final AccessLogLine line = new AccessLogLine(out, config.headers());
        private int count;

        synchronized boolean add(CallContext call) {
            int before = out.length();
            if (before >= MAX_BYTES || writer.isClosed()) {
                return false;
            }
            line.write(call, System.currentTimeMillis());
            count++;
            if (before < WAKE_BYTES && out.length() >= WAKE_BYTES) {
                writer.wake();
            }
            return true;
        }

        /** Exchanges the array for the lines; returns their number. */
        synchronized int take(TakenLines exchanged) {
            int lines = count;
            if (lines > 0) {
                exchanged.length = out.length();
                exchanged.bytes = out.take(exchanged.bytes);
                count = 0;
            }
            return lines;
        }
    }

    /**
     * Writes the line of one call. Members without a value are left out; docs/reference/access-log.md describes them. Any
     * text of a client is escaped as JSON, so that it cannot add a line or a member.
     */
    private static final class AccessLogLine {
        private static final Member TIME = new Member("time");
        private static final Member REQUEST_ID = new Member("request_id");
        private static final Member TRACE_ID = new Member("trace_id");
        private static final Member HEADERS = new Member("headers");
        private static final Member PEER = new Member("peer");
        private static final Member ATTEMPTS = new Member("attempts");
        private static final Member RETRIES = new Member("retries");
        private static final Member HTTP_STATUS = new Member("http_status");
        private static final Member GRPC_STATUS = new Member("grpc_status");
        private static final Member REASON = new Member("reason");
        private static final Member REQUEST_BYTES = new Member("request_bytes");
        private static final Member RESPONSE_BYTES = new Member("response_bytes");
        private static final Member REQUEST_MS = new Member("request_ms");
        private static final Member UPSTREAM_MS = new Member("upstream_ms");
        private static final Member RESPONSE_MS = new Member("response_ms");
        private static final Member DURATION_MS = new Member("duration_ms");

        private final LineWriter out;
        private final Map<String, Member> headers = new LinkedHashMap<>();
        private final RepeatedText principal = new RepeatedText("principal");
        private final RepeatedText protocol = new RepeatedText("protocol");
        private final RepeatedText method = new RepeatedText("method");
        private final RepeatedText path = new RepeatedText("path");
        private final RepeatedText listener = new RepeatedText("listener");
        private final RepeatedText tls = new RepeatedText("tls");
        private final RepeatedText operation = new RepeatedText("operation");
        private final RepeatedText model = new RepeatedText("model");
        private final RepeatedText version = new RepeatedText("version");
        private final RepeatedText route = new RepeatedText("route");
        private final RepeatedText target = new RepeatedText("target");
        private final RepeatedText upstream = new RepeatedText("upstream");
        private final RepeatedText servedModel = new RepeatedText("served_model");
        private final RepeatedText servedVersion = new RepeatedText("served_version");
        private final RepeatedText server = new RepeatedText("server");
        private final RepeatedText code = new RepeatedText("code");
        private final RepeatedText cause = new RepeatedText("cause");

        /** @param headers names of the request headers to log */
        AccessLogLine(LineWriter out, List<String> headers) {
            this.out = out;
            headers.forEach(each -> this.headers.put(each, new Member(each)));
        }

        /** @param endMillis when the call ended, in milliseconds since 1970 */
        void write(CallContext call, long endMillis) {
            out.begin();
            out.time(TIME, endMillis - call.totalNanos() / 1_000_000);
            client(call);
            request(call);
            target(call);
            result(call);
            out.end();
        }

        private void client(CallContext call) {
            HeaderFields fields = call.headers();
            out.text(REQUEST_ID, call.requestId());
            out.text(TRACE_ID, call.traceId());
            out.text(PEER, call.peerText());
            ClientConnection connection = call.connection();
            if (connection != null) {
                out.text(listener, connection.listener());
                out.text(tls, connection.tls() == null ? null : connection.tls().protocol());
            }
            out.text(principal, call.principal().name());
            if (call.protocol() != null) {
                out.text(protocol, call.protocol().label());
            }
            out.text(method, fields.method());
            String uri = fields.uri();
            int query = uri.indexOf('?');
            out.text(path, query < 0 ? uri : uri.substring(0, query));
            if (!headers.isEmpty()) {
                out.beginObject(HEADERS);
                headers.forEach((name, member) -> out.text(member, fields.value(name)));
                out.endObject();
            }
        }

        private void request(CallContext call) {
            Operation requested = call.operation();
            out.text(operation, OperationKind.of(requested).label());
            ModelRef named = requested == null ? null : requested.requestedModel();
            if (named != null) {
                out.text(model, named.name());
                out.text(version, named.version());
            }
        }

        private void target(CallContext call) {
            if (!call.route().equals(CallContext.NO_ROUTE)) {
                out.text(route, call.route());
            }
            out.text(target, call.target());
            out.text(upstream, call.upstream());
            ModelRef served = call.served();
            if (served != null) {
                out.text(servedModel, served.name());
                out.text(servedVersion, served.version());
            }
            out.text(server, call.server());
            out.number(ATTEMPTS, call.attempts());
            List<String> retries = call.retries();
            if (!retries.isEmpty()) {
                out.texts(RETRIES, retries);
            }
        }

        private void result(CallContext call) {
            ErrorCode failure = call.code();
            out.number(HTTP_STATUS, failure == null ? 200 : failure.httpStatus());
            out.number(GRPC_STATUS, failure == null ? 0 : failure.grpcStatus());
            out.text(code, failure == null ? "OK" : failure.name());
            if (call.cause() != null) {
                out.text(cause, call.cause().label());
            }
            out.text(REASON, call.reason());
            out.number(REQUEST_BYTES, call.requestBytes());
            out.number(RESPONSE_BYTES, call.responseBytes());
            out.milliseconds(REQUEST_MS, call.requestNanos());
            out.milliseconds(UPSTREAM_MS, call.upstreamNanos());
            out.milliseconds(RESPONSE_MS, call.responseWriteNanos());
            out.milliseconds(DURATION_MS, call.totalNanos());
        }
    }
}
