package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.gateway.settings.TlsFiles;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.time.Duration;
import java.util.Base64;

/** A real Kubernetes API server with its etcd, whose EndpointSlices this driver writes. */
final class KubernetesApi {
    static final String SERVICE = "k8s:default/fleet:grpc";
    private static final Duration START = Duration.ofMinutes(2);
    private static final String TOKEN = "driver-token";
    private static final String SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

    private final Path folder;
    private final int port;
    private final HttpClient client;

    private KubernetesApi(Path folder, int port) throws IOException {
        this.folder = folder;
        this.port = port;
        client = HttpClient.newBuilder()
                .sslContext(TlsFiles.trusting(certificate()))
                .build();
    }

    /**
     * Starts both, and waits until they are ready.
     *
     * @param home of the project, whose script installs them
     * @param folder for their files
     */
    static KubernetesApi start(Children children, Path home, Path folder, int port, int etcdPort, int peerPort)
            throws IOException, BenchException, InterruptedException {
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("token"), TOKEN);
        Files.writeString(folder.resolve("tokens.csv"), TOKEN + ",driver,driver,\"system:masters\"\n");
        keys(folder);
        Path programs = installed(children, home);
        String etcd = "http://127.0.0.1:" + etcdPort;
        String peer = "http://127.0.0.1:" + peerPort;
        children.start(
                "etcd",
                new ProcessBuilder(
                        programs.resolve("etcd").toString(),
                        "--data-dir=" + folder.resolve("etcd"),
                        "--listen-client-urls=" + etcd,
                        "--advertise-client-urls=" + etcd,
                        "--listen-peer-urls=" + peer,
                        "--initial-advertise-peer-urls=" + peer,
                        "--initial-cluster=default=" + peer));
        Child server = children.start(
                "kube-apiserver",
                new ProcessBuilder(
                        programs.resolve("kube-apiserver").toString(),
                        "--etcd-servers=" + etcd,
                        "--bind-address=127.0.0.1",
                        "--secure-port=" + port,
                        "--cert-dir=" + folder,
                        "--endpoint-reconciler-type=none",
                        "--service-cluster-ip-range=10.96.0.0/16",
                        "--service-account-issuer=https://kubernetes.default.svc",
                        "--service-account-key-file=" + folder.resolve("account.pub"),
                        "--service-account-signing-key-file=" + folder.resolve("account.key"),
                        "--token-auth-file=" + folder.resolve("tokens.csv"),
                        "--authorization-mode=RBAC"));
        return awaitReady(server, folder, port);
    }

    private static Path installed(Children children, Path home)
            throws IOException, BenchException, InterruptedException {
        Child script = children.start(
                "install",
                new ProcessBuilder(home.resolve("conformance/install.sh").toString(), "kube-apiserver"));
        return Path.of(script.await("kube-apiserver=", Duration.ofMinutes(30)));
    }

    private static void keys(Path folder) throws IOException {
        try {
            KeyPair keys = KeyPairGenerator.getInstance("RSA").generateKeyPair();
            pem(folder.resolve("account.key"), "PRIVATE KEY", keys.getPrivate().getEncoded());
            pem(folder.resolve("account.pub"), "PUBLIC KEY", keys.getPublic().getEncoded());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java has RSA", e);
        }
    }

    private static void pem(Path file, String label, byte[] content) throws IOException {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
        Files.writeString(file, "-----BEGIN " + label + "-----\n" + text + "\n-----END " + label + "-----\n");
    }

    private static KubernetesApi awaitReady(Child server, Path folder, int port)
            throws IOException, BenchException, InterruptedException {
        long end = System.nanoTime() + START.toNanos();
        while (server.alive() && System.nanoTime() < end) {
            Thread.sleep(200);
            try {
                // It creates its certificate itself.
                KubernetesApi api =
                        Files.exists(folder.resolve("apiserver.key")) ? new KubernetesApi(folder, port) : null;
                if (api != null && api.send("GET", "/readyz", "").statusCode() == 200) {
                    return api;
                }
            } catch (IOException notYet) {
                // Still starting.
            }
        }
        throw server.failure("did not become ready");
    }

    private Path certificate() {
        return folder.resolve("apiserver.crt");
    }

    /** The gateway's settings for the access to it. */
    String settings() {
        return "kubernetes: {api_server: \"https://127.0.0.1:%d\", ca_file: \"%s\", token_file: \"%s\"}\n"
                .formatted(port, certificate(), folder.resolve("token"));
    }

    private HttpResponse<String> send(String method, String path, String body)
            throws IOException, InterruptedException {
        return client.send(
                HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + path))
                        .timeout(Duration.ofSeconds(30))
                        .header("authorization", "Bearer " + TOKEN)
                        .header("content-type", "application/json")
                        .method(method, HttpRequest.BodyPublishers.ofString(body, StandardCharsets.UTF_8))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private void request(String method, String path, String body)
            throws IOException, InterruptedException, BenchException {
        HttpResponse<String> response = send(method, path, body);
        if (response.statusCode() >= 300) {
            throw new BenchException(method + " " + path + ": " + response.body());
        }
    }

    /** Adds a ready pod. */
    void add(int podPort) throws IOException, InterruptedException, BenchException {
        request("POST", SLICES, slice(podPort, "\"ready\":true,\"serving\":true,\"terminating\":false"));
    }

    /** A pod is deleted: it still serves, and terminates. */
    void terminate(int podPort) throws IOException, InterruptedException, BenchException {
        request(
                "PUT",
                SLICES + "/pod-" + podPort,
                slice(podPort, "\"ready\":false,\"serving\":true,\"terminating\":true"));
    }

    /** A pod has ended. */
    void remove(int podPort) throws IOException, InterruptedException, BenchException {
        request("DELETE", SLICES + "/pod-" + podPort, "");
    }

    private static String slice(int podPort, String conditions) throws IOException {
        return """
                {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                 "metadata": {"name": "pod-%d", "labels": {"kubernetes.io/service-name": "fleet"}},
                 "ports": [{"name": "grpc", "port": %1$d}],
                 "endpoints": [{"addresses": ["%s"], "conditions": {%s}}]}
                """.formatted(podPort, address().getHostAddress(), conditions);
    }

    /** An address of this machine: Kubernetes takes no loopback addresses as endpoints. */
    static InetAddress address() throws IOException {
        return NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(each -> each instanceof Inet4Address && !each.isLoopbackAddress() && !each.isLinkLocalAddress())
                .findFirst()
                .orElseThrow(() -> new IOException("an IPv4 address other than loopback is expected on this machine"));
    }
}
