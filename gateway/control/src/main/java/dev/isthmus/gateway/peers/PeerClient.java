package dev.isthmus.gateway.peers;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.LimitedExchange;
import dev.isthmus.gateway.settings.PeersConfig;
import dev.isthmus.gateway.settings.SecretFile;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import io.netty.util.NetUtil;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/** Asks the other gateways once, all at the same time. Its connections and files are those of one round. */
final class PeerClient implements AutoCloseable {
    static final String PATH = "/gateway";
    /** A summary has at most 200 models and ramps. */
    static final long MAX_SIZE = 256 * 1024;

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int OK = 200;

    private final PeersConfig config;
    private final @Nullable String token;
    private final @Nullable SSLContext tls;
    /** By the name that certificates must have; empty without TLS. */
    private final Map<String, HttpClient> clients = new HashMap<>();

    /** @throws IOException if a file cannot be used; the message says which */
    PeerClient(PeersConfig config) throws IOException {
        this.config = config;
        this.token = token(config);
        try {
            this.tls = !config.tls() || config.ca() == null ? null : TlsFiles.trusting(config.ca());
        } catch (TlsFileException e) {
            throw new IOException("admin.peers.ca: " + e.getMessage(), e);
        }
    }

    private static @Nullable String token(PeersConfig config) throws IOException {
        if (config.tokenFile() == null) {
            return null;
        }
        String what = "admin.peers.token_file: ";
        String exposure;
        try {
            exposure = SecretFile.exposure(config.tokenFile());
            if (exposure == null) {
                return Files.readString(config.tokenFile()).strip();
            }
        } catch (IOException e) {
            throw new IOException(what + "the file cannot be read", e);
        }
        throw new IOException(what + exposure);
    }

    /** The answers, in the order of the gateways. Blocks, at most for the timeout. */
    List<PeerAnswer> ask(List<DiscoveredServer> gateways) {
        return gateways.stream().map(this::ask).toList().stream()
                .map(CompletableFuture::join)
                .toList();
    }

    private CompletableFuture<PeerAnswer> ask(DiscoveredServer gateway) {
        String address = gateway.address().authority();
        try {
            return LimitedExchange.sendAsync(
                            client(serverName(gateway)),
                            request(address),
                            HttpResponse.BodyHandlers.ofByteArray(),
                            MAX_SIZE,
                            config.timeout())
                    .handle((response, failure) -> failure == null
                            ? answer(address, response)
                            : PeerAnswer.failed(address, FailureReason.of(failure)));
        } catch (IllegalArgumentException e) {
            return CompletableFuture.completedFuture(
                    PeerAnswer.failed(address, "its address, the server name or the token cannot be sent"));
        }
    }

    private HttpRequest request(String address) {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create((config.tls() ? "https://" : "http://") + address + PATH))
                .header("accept", "application/json")
                .timeout(config.timeout());
        if (token != null) {
            request.header("authorization", "Bearer " + token);
        }
        return request.build();
    }

    /** The name that is asked for; empty for an IP address, and without TLS. */
    private String serverName(DiscoveredServer gateway) {
        if (!config.tls()) {
            return "";
        }
        String authority = gateway.authority();
        String name =
                config.serverName() == null ? authority.substring(0, authority.lastIndexOf(':')) : config.serverName();
        boolean literal = name.startsWith("[") || NetUtil.createByteArrayFromIpAddressString(name) != null;
        return literal ? "" : name;
    }

    private HttpClient client(String name) {
        return clients.computeIfAbsent(name, this::connect);
    }

    private HttpClient connect(String name) {
        HttpClient.Builder builder = LimitedExchange.client(tls, config.timeout());
        if (!name.isEmpty()) {
            // Connections are made to IP addresses; certificates have the name.
            SSLParameters parameters = new SSLParameters();
            parameters.setServerNames(List.of(new SNIHostName(name)));
            builder.sslParameters(parameters);
        }
        return builder.build();
    }

    private PeerAnswer answer(String address, HttpResponse<byte[]> response) {
        if (response.statusCode() == 401) {
            return PeerAnswer.failed(
                    address,
                    token == null
                            ? "it needs a token: admin.peers.token_file names its file"
                            : "it does not accept the token of admin.peers.token_file");
        }
        if (response.statusCode() != OK) {
            return PeerAnswer.failed(address, "GET " + PATH + ": status 200 is expected, got " + response.statusCode());
        }
        try {
            PeerSummary summary = PeerSummary.of(JSON.readTree(response.body()));
            return summary == null
                    ? PeerAnswer.failed(address, "its answer is not one of a gateway")
                    : new PeerAnswer(List.of(address), false, summary, "");
        } catch (IOException e) {
            return PeerAnswer.failed(address, "its answer is not JSON");
        }
    }

    @Override
    public void close() {
        clients.values().forEach(client -> {
            client.shutdownNow();
            client.close();
        });
    }

    /**
     * A gateway as it was last seen.
     *
     * @param addresses host and port at which it was asked; empty for this gateway if it is not among its peers
     * @param self whether it is this gateway
     * @param summary what it says; null if it cannot be reached
     * @param failure why it cannot be reached; empty if it can
     */
    record PeerAnswer(
            List<String> addresses, boolean self, @Nullable PeerSummary summary, String failure) {

        PeerAnswer {
            addresses = List.copyOf(addresses);
        }

        /** A gateway that has not answered as expected. */
        static PeerAnswer failed(String address, String failure) {
            return new PeerAnswer(List.of(address), false, null, failure);
        }

        /** The same gateway, also at the addresses of another answer of it. */
        PeerAnswer alsoAt(PeerAnswer other) {
            List<String> all = Stream.concat(addresses.stream(), other.addresses.stream())
                    .distinct()
                    .toList();
            return new PeerAnswer(all, self, summary, failure);
        }

        /** What operators call it. */
        String name() {
            return addresses.isEmpty() ? "this gateway" : addresses.getFirst();
        }
    }
}
