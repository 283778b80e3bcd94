package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestAuthority.Issued;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import org.jspecify.annotations.Nullable;

/** Gateways with certificates, and clients that trust them. */
final class TlsStage {
    static final String SIMPLE = "/v2/models/simple/infer";
    private static final int TIMEOUT_MILLIS = 20_000;

    private TlsStage() {}

    /** A gateway with the embedded models, and this listener. */
    static ProxyServer gateway(Path folder, String listener) throws Exception {
        return ProxyServer.start(local(folder, listener));
    }

    /** A gateway's configuration, with the embedded models. */
    static GatewayConfig local(Path folder, String listener) throws Exception {
        return config(folder, """
                default_upstream: local
                local: {embedded_models: true}
                answers: {errors: passed}
                listeners:
                - %s
                """.formatted(listener));
    }

    static GatewayConfig config(Path folder, String text) throws Exception {
        return ConfigLoader.parse("isthmus.yaml", text, folder);
    }

    static int port(ProxyServer gateway) {
        return gateway.addresses().getFirst().getPort();
    }

    /**
     * What a JDK client needs.
     *
     * @param own its certificate; null for none
     */
    static SSLContext trusting(TestAuthority authority, @Nullable Issued own) throws Exception {
        KeyStore trusted = store();
        trusted.setCertificateEntry("ca", authority.x509());
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        KeyManager[] keys = own == null ? new KeyManager[0] : new KeyManager[] {new OneKey(own)};
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys, trust.getTrustManagers(), null);
        return context;
    }

    /** Always sends the same certificate, whatever issuers the server lists. */
    private static final class OneKey extends X509ExtendedKeyManager {
        private final Issued own;

        OneKey(Issued own) {
            this.own = own;
        }

        @Override
        public String[] getClientAliases(String type, Principal[] issuers) {
            return new String[] {"own"};
        }

        @Override
        public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
            return "own";
        }

        @Override
        public String[] getServerAliases(String type, Principal[] issuers) {
            return new String[0];
        }

        @Override
        public @Nullable String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
            return null;
        }

        @Override
        public X509Certificate[] getCertificateChain(String alias) {
            return new X509Certificate[] {own.x509()};
        }

        @Override
        public PrivateKey getPrivateKey(String alias) {
            return own.keys().getPrivate();
        }
    }

    private static KeyStore store() throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, new char[0]);
        return store;
    }

    /** Connects without a handshake yet. */
    static SSLSocket connect(SSLContext context, int port, @Nullable String sni, String... alpn) throws IOException {
        Socket plain = new Socket(InetAddress.getLoopbackAddress(), port);
        plain.setSoTimeout(TIMEOUT_MILLIS);
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(plain, "127.0.0.1", port, true);
        SSLParameters parameters = socket.getSSLParameters();
        if (sni != null) {
            parameters.setServerNames(List.of(new SNIHostName(sni)));
        }
        parameters.setApplicationProtocols(alpn);
        socket.setSSLParameters(parameters);
        return socket;
    }

    /** The certificate that the server shows for this name. */
    static X509Certificate shown(SSLContext context, int port, @Nullable String sni) throws IOException {
        try (SSLSocket socket = connect(context, port, sni)) {
            socket.startHandshake();
            return (X509Certificate) socket.getSession().getPeerCertificates()[0];
        }
    }

    /** Sends a request over an open connection, and reads the start of the response. */
    static String ask(Socket socket, String request) throws IOException {
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().flush();
        byte[] bytes = new byte[64 * 1024];
        int read = socket.getInputStream().read(bytes);
        return read < 0 ? "" : new String(bytes, 0, read, StandardCharsets.US_ASCII);
    }

    static String live(Socket socket) throws IOException {
        return ask(socket, "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }

    /** An inference of the embedded model 'simple', as JSON. */
    static String simpleJson() {
        String ones = "1" + ",1".repeat(15);
        return "{\"inputs\":[{\"name\":\"INPUT0\",\"shape\":[1,16],\"datatype\":\"INT32\",\"data\":[" + ones
                + "]},{\"name\":\"INPUT1\",\"shape\":[1,16],\"datatype\":\"INT32\",\"data\":[" + ones + "]}]}";
    }

    /** Infers over REST. */
    static HttpResponse<String> infer(SSLContext context, HttpClient.Version version, String host, int port)
            throws Exception {
        try (HttpClient client =
                HttpClient.newBuilder().sslContext(context).version(version).build()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create("https://" + host + ":" + port + SIMPLE))
                    .header("content-type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(simpleJson()))
                    .build();
            return client.send(request, HttpResponse.BodyHandlers.ofString());
        }
    }

    /** A gRPC client. */
    static ManagedChannel grpc(int port, TestAuthority authority, String host, @Nullable Issued own) throws Exception {
        SslContextBuilder context = GrpcSslContexts.configure(SslContextBuilder.forClient(), SslProvider.JDK)
                .trustManager(authority.ca().toFile());
        if (own != null) {
            context.keyManager(own.certificate().toFile(), own.key().toFile());
        }
        return NettyChannelBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .overrideAuthority(host)
                .sslContext(context.build())
                .build();
    }

    /** Infers over gRPC; returns the number of outputs. */
    static int infer(ManagedChannel channel) throws IOException {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName("simple");
        for (String name : List.of("INPUT0", "INPUT1")) {
            var input = ModelInferRequest.InferInputTensor.newBuilder()
                    .setName(name)
                    .setDatatype("INT32")
                    .addShape(1)
                    .addShape(16);
            for (int i = 0; i < 16; i++) {
                input.getContentsBuilder().addIntContents(i);
            }
            request.addInputs(input);
        }
        byte[] response = ClientCalls.blockingUnaryCall(
                channel,
                FakeGrpcServer.bytes("ModelInfer"),
                CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS),
                request.build().toByteArray());
        return ModelInferResponse.parseFrom(response).getOutputsCount();
    }

    static void close(ManagedChannel channel) throws InterruptedException {
        channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }

    /** The value of a counter. */
    static double count(ProxyServer gateway, String name, String... tags) {
        var counter = gateway.meters().find(name).tags(tags).counter();
        return counter == null ? -1 : counter.count();
    }
}
