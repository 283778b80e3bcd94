package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ReadPendingException;
import java.nio.channels.SocketChannel;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class FailureReasonTest {
    @TempDir
    Path folder = Path.of(".");

    static Stream<Arguments> failures() {
        return Stream.of(
                Arguments.of(new IOException("too large"), "too large"),
                Arguments.of(new IOException(), "io"),
                Arguments.of(
                        new IOException(
                                "no path: sun.security.provider.certpath.SunCertPathBuilderException: no issuer"),
                        "no path: no issuer"),
                Arguments.of(new IOException(new IOException("inner")), "inner"),
                Arguments.of(new IOException(null, new ClosedChannelException()), "the connection was closed"),
                Arguments.of(new ExecutionException(new ConnectException()), "connection refused"),
                Arguments.of(new CompletionException(new ReadPendingException()), "read pending"),
                Arguments.of(new ConnectException("Connection refused: /[::1]:1"), "Connection refused: /[::1]:1"),
                Arguments.of(new UnknownHostException("nowhere"), "the host cannot be resolved: nowhere"),
                Arguments.of(new HttpTimeoutException("request timed out"), "no response in time"),
                Arguments.of(new MalformedInputException(1), "it is not UTF-8"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void reason_isInWords(Throwable failure, String reason) {
        assertThat(FailureReason.of(failure)).isEqualTo(reason);
    }

    @Test
    void fileThatIsAbsent_isNamed() {
        Path file = folder.resolve("absent");
        Throwable failure = catchThrowable(() -> Files.readString(file));
        assertThat(FailureReason.of(failure)).isEqualTo(file + " does not exist");
    }

    @Test
    void fileInAFile_isNamedWithTheReason() throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        Throwable failure = catchThrowable(() -> Files.readString(file.resolve("below")));
        assertThat(FailureReason.of(failure)).startsWith(file + "/below").doesNotContain("Exception");
    }

    /** As the gateway calls collectors, sinks, issuers and other gateways. */
    @ParameterizedTest
    @CsvSource({"http://127.0.0.1:1, connection refused", "http://nowhere.invalid:1, the host cannot be resolved"})
    void requestWithoutAConnection_saysWhy(URI server, String reason) {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(server).build();
            assertThat(FailureReason.of(
                            catchThrowable(() -> client.send(request, HttpResponse.BodyHandlers.discarding()))))
                    .isEqualTo(reason);
        }
    }

    @Test
    void unresolvedAddress_isSaid() {
        InetSocketAddress address = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
        assertThat(FailureReason.of(
                        catchThrowable(() -> SocketChannel.open(address).close())))
                .isEqualTo("the host cannot be resolved");
    }
}
