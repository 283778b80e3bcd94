package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Responses of servers that are parsed have limits of their own, far below those of inferences. */
class ManagementResponseSizeTest {
    private static final int MESSAGE = 64 << 20;
    private static final int DOCUMENT = 3 << 20;
    private static final ModelRef MODEL = ModelRef.of("m");

    private enum ParsedResponse {
        SERVER_READY(UpstreamSettings.MAX_METADATA_BYTES),
        SERVER_METADATA(UpstreamSettings.MAX_METADATA_BYTES),
        MODEL_READY(UpstreamSettings.MAX_METADATA_BYTES),
        MODEL_METADATA(UpstreamSettings.MAX_METADATA_BYTES),
        INDEX(DOCUMENT),
        CONFIG(DOCUMENT),
        STATISTICS(DOCUMENT),
        LOAD(DOCUMENT),
        TRACE(DOCUMENT);

        private final int limit;

        ParsedResponse(int limit) {
            this.limit = limit;
        }

        Subscription ask(Upstream upstream, Call call, Reply reply) {
            return switch (this) {
                case SERVER_READY -> upstream.send(call, new UpstreamRequest.ServerReadyRequest(), reply);
                case SERVER_METADATA -> upstream.send(call, new UpstreamRequest.ServerMetadataRequest(), reply);
                case MODEL_READY -> upstream.send(call, new UpstreamRequest.ModelReadyRequest(MODEL), reply);
                case MODEL_METADATA -> upstream.send(call, new UpstreamRequest.ModelMetadataRequest(MODEL), reply);
                case INDEX -> manage(upstream, call, Extension.REPOSITORY_INDEX, "", reply);
                case CONFIG -> manage(upstream, call, Extension.MODEL_CONFIG, "m", reply);
                case STATISTICS -> manage(upstream, call, Extension.MODEL_STATISTICS, "", reply);
                case LOAD -> manage(upstream, call, Extension.REPOSITORY_LOAD, "m", reply);
                case TRACE -> manage(upstream, call, Extension.TRACE_SETTING, "", reply);
            };
        }

        private static Subscription manage(
                Upstream upstream, Call call, Extension extension, String model, Reply reply) {
            var operation = new Operation.Manage(extension, ModelRef.of(model), "", false, false, false);
            return upstream.send(call, new UpstreamRequest.ManageRequest(operation, Unpooled.EMPTY_BUFFER), reply);
        }
    }

    private static UpstreamSettings settings(Endpoint endpoint) {
        return new UpstreamSettings(
                "triton",
                endpoint,
                endpoint.authority(),
                "",
                null,
                Duration.ofMinutes(1),
                Duration.ofSeconds(10),
                MESSAGE,
                DOCUMENT,
                HeaderAllowList.of(List.of()),
                AbusePolicy.NONE,
                new ConnectionTable(),
                () -> false);
    }

    private static OipException failure(ParsedResponse response, Upstream upstream, UpstreamBench bench)
            throws Exception {
        RecordedReply reply = bench.send(recorded -> response.ask(upstream, bench.call(), recorded));
        OipException failure = reply.failure();
        assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
        return failure;
    }

    @ParameterizedTest
    @EnumSource
    void grpc_isRefusedByItsPrefix(ParsedResponse response) throws Exception {
        try (var server = FakeGrpcServer.responding(new byte[response.limit + 1]);
                var bench = new UpstreamBench();
                var upstream = new GrpcUpstream(
                        settings(server.endpoint()), ServerCapabilities.unknown(), bench.allocator())) {
            assertThat(failure(response, upstream, bench))
                    .hasMessage(
                            "upstream 'triton' sent a response of more than %d bytes: gRPC message: at most %d bytes "
                                            .formatted(response.limit, response.limit)
                                    + "are accepted, got " + (response.limit + 1));
        }
    }

    @ParameterizedTest
    @EnumSource
    void rest_isRefusedByItsLength(ParsedResponse response) throws Exception {
        String head = "HTTP/1.1 200 OK\r\nContent-Length: " + (response.limit + 1) + "\r\n\r\n";
        try (var server = FakeRestServer.sending(head);
                var bench = new UpstreamBench();
                var upstream = new RestUpstream(
                        settings(server.endpoint()),
                        ServerCapabilities.unknown(),
                        PoolLimits.DEFAULT,
                        bench.allocator())) {
            assertThat(failure(response, upstream, bench))
                    .hasMessage("upstream 'triton' sent a response of %d bytes, at most %d are accepted"
                            .formatted(response.limit + 1, response.limit));
        }
    }

    @ParameterizedTest
    @EnumSource
    void rest_isRefusedWhileItArrives(ParsedResponse response) throws Exception {
        String chunk = "40000\r\n" + " ".repeat(0x40000) + "\r\n";
        try (var server = FakeRestServer.that((request, out) -> {
                    FakeRestServer.write(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                    while (true) {
                        FakeRestServer.write(out, chunk);
                    }
                });
                var bench = new UpstreamBench();
                var upstream = new RestUpstream(
                        settings(server.endpoint()),
                        ServerCapabilities.unknown(),
                        PoolLimits.DEFAULT,
                        bench.allocator())) {
            assertThat(failure(response, upstream, bench))
                    .hasMessage("upstream 'triton' sent a response of more than " + response.limit + " bytes");
        }
    }
}
