package dev.isthmus.gateway.endtoend;

import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestAuthority.Issued;
import dev.isthmus.gateway.settings.TlsFiles;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.TestInfo;

/** A real Kubernetes API server with its etcd, without any controller: what they would create, tests create. */
final class KubernetesCluster implements AutoCloseable {
    private static final Duration START = Duration.ofMinutes(3);
    private static final JsonMapper JSON = new JsonMapper();
    private static final String ADMIN = "admin-token";

    private final Path folder;
    private final Path programs;
    private final TestAuthority authority;
    private final Issued certificate;
    private final HttpClient client;
    private final int port = RealServer.freePort();
    private final int etcdPort = RealServer.freePort();
    private final Process etcd;
    private @Nullable Process apiServer;

    /** A namespace for a test, named as its method. */
    static String namespace(TestInfo test) {
        return test.getTestMethod()
                .orElseThrow()
                .getName()
                .toLowerCase(Locale.ROOT)
                .replace('_', '-');
    }

    /** Starts it, and waits until it is ready. */
    KubernetesCluster(Path folder) throws Exception {
        this.folder = folder;
        programs = Script.folder("kube-apiserver", Script.run("install.sh", "kube-apiserver"));
        authority = new TestAuthority(folder, "cluster");
        certificate = authority.issue("apiserver", "127.0.0.1");
        client = HttpClient.newBuilder()
                .sslContext(TlsFiles.trusting(authority.ca()))
                .build();
        Files.writeString(folder.resolve("tokens.csv"), ADMIN + ",admin,admin,\"system:masters\"\n");
        String clients = "http://127.0.0.1:" + etcdPort;
        String peer = "http://127.0.0.1:" + RealServer.freePort();
        etcd = start(
                "etcd",
                List.of(
                        "--data-dir=" + folder.resolve("etcd"),
                        "--listen-client-urls=" + clients,
                        "--advertise-client-urls=" + clients,
                        "--listen-peer-urls=" + peer,
                        "--initial-advertise-peer-urls=" + peer,
                        "--initial-cluster=default=" + peer));
        try {
            startApiServer();
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    private Process start(String program, List<String> flags) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(programs.resolve(program).toString());
        builder.command().addAll(flags);
        return builder.redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log(program).toFile()))
                .start();
    }

    private Path log(String program) {
        return folder.resolve(program + ".log");
    }

    void startApiServer() throws IOException {
        Process started = start(
                "kube-apiserver",
                List.of(
                        "--etcd-servers=http://127.0.0.1:" + etcdPort,
                        "--bind-address=127.0.0.1",
                        "--secure-port=" + port,
                        "--tls-cert-file=" + certificate.certificate(),
                        "--tls-private-key-file=" + certificate.key(),
                        "--cert-dir=" + folder,
                        "--endpoint-reconciler-type=none",
                        "--service-cluster-ip-range=10.96.0.0/16",
                        "--service-account-issuer=https://kubernetes.default.svc",
                        "--service-account-key-file=" + certificate.certificate(),
                        "--service-account-signing-key-file=" + certificate.key(),
                        "--token-auth-file=" + folder.resolve("tokens.csv"),
                        "--authorization-mode=RBAC",
                        "--profiling=false"));
        apiServer = started;
        await().atMost(START).pollInterval(Duration.ofMillis(200)).until(() -> {
            if (!started.isAlive()) {
                throw new IllegalStateException("kube-apiserver ended:\n" + Files.readString(log("kube-apiserver")));
            }
            return ready();
        });
    }

    private boolean ready() throws InterruptedException {
        try {
            return send("GET", "/readyz", "").statusCode() == 200;
        } catch (IOException notYet) {
            return false;
        }
    }

    /** Kills the API server; etcd keeps its objects. */
    void stopApiServer() {
        Process running = apiServer;
        if (running != null) {
            running.destroyForcibly().onExit().join();
        }
    }

    String url() {
        return "https://127.0.0.1:" + port;
    }

    Path ca() {
        return authority.ca();
    }

    /** A file with which an administrator's programs reach it. */
    Path kubeconfig() throws IOException {
        Path file = folder.resolve("kubeconfig");
        Files.writeString(file, """
                apiVersion: v1
                kind: Config
                current-context: test
                contexts: [{name: test, context: {cluster: test, user: admin}}]
                clusters: [{name: test, cluster: {server: "%s", certificate-authority: "%s"}}]
                users: [{name: admin, user: {token: %s}}]
                """.formatted(url(), ca(), ADMIN));
        return file;
    }

    private HttpResponse<String> send(String method, String path, String body)
            throws IOException, InterruptedException {
        return send(method, path, method.equals("PATCH") ? "application/merge-patch+json" : "application/json", body);
    }

    private HttpResponse<String> send(String method, String path, String type, String body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url() + path))
                .timeout(Duration.ofSeconds(30))
                .header("authorization", "Bearer " + ADMIN)
                .header("content-type", type);
        request.method(method, HttpRequest.BodyPublishers.ofString(body));
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    /** Sends a request as administrator, which must succeed. JSON may have single quotes. */
    JsonNode request(String method, String path, String body) throws IOException, InterruptedException {
        HttpResponse<String> response = send(method, path, body.replace('\'', '"'));
        if (response.statusCode() >= 300) {
            throw new IllegalStateException(method + " " + path + ": " + response.body());
        }
        return JSON.readTree(response.body());
    }

    /** What the API server says of a resource that is applied, and not stored: fields that it does not know are errors. */
    HttpResponse<String> check(String path, String yaml) throws IOException, InterruptedException {
        String query = "?dryRun=All&fieldManager=test&force=true&fieldValidation=Strict";
        return send("PATCH", path + query, "application/apply-patch+yaml", yaml);
    }

    /** Creates a kind of resources, and waits until there is its path. */
    void define(Path definition, String path) throws IOException, InterruptedException {
        createYaml("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Files.readString(definition));
        await().atMost(START).until(() -> send("GET", path, "").statusCode() == 200);
    }

    /** Creates a resource. */
    void createYaml(String path, String yaml) throws IOException, InterruptedException {
        HttpResponse<String> response = send("POST", path, "application/yaml", yaml);
        if (response.statusCode() >= 300) {
            throw new IllegalStateException(path + ": " + response.body());
        }
    }

    /** Creates a namespace with a Service, and an account that may watch its EndpointSlices. */
    void create(String namespace, String service) throws IOException, InterruptedException {
        request("POST", "/api/v1/namespaces", "{'metadata': {'name': '" + namespace + "'}}");
        String in = "/namespaces/" + namespace;
        request("POST", "/api/v1" + in + "/serviceaccounts", "{'metadata': {'name': 'isthmus'}}");
        request("POST", "/api/v1" + in + "/services", """
                {'metadata': {'name': '%s'}, 'spec': {'selector': {'app': 'none'}, 'ports': [{'name': 'grpc', 'port': 8001}]}}
                """.formatted(service));
        allow(namespace, namespace);
    }

    /** Lets the account of a namespace watch the EndpointSlices of another. */
    void allow(String account, String namespace) throws IOException, InterruptedException {
        allow(account, namespace, "discovery.k8s.io", "endpointslices");
    }

    /** Lets the account of a namespace watch the resources of a kind in another. */
    void allow(String account, String namespace, String group, String kind) throws IOException, InterruptedException {
        allow("/namespaces/" + namespace, "", "isthmus-" + kind, account, group, kind);
    }

    /** Lets the account of a namespace watch the resources of a kind that is in no namespace. */
    void allowInCluster(String account, String group, String kind) throws IOException, InterruptedException {
        allow("", "Cluster", "isthmus-" + account + "-" + kind, account, group, kind);
    }

    private void allow(String in, String scope, String name, String account, String group, String kind)
            throws IOException, InterruptedException {
        String rbac = "/apis/rbac.authorization.k8s.io/v1" + in + "/" + scope.toLowerCase(Locale.ROOT);
        request("POST", rbac + "roles", """
                {'metadata': {'name': '%s'}, 'rules':
                  [{'apiGroups': ['%s'], 'resources': ['%s'], 'verbs': ['list', 'watch']}]}
                """.formatted(name, group, kind));
        request("POST", rbac + "rolebindings", """
                {'metadata': {'name': '%s'},
                 'subjects': [{'kind': 'ServiceAccount', 'name': 'isthmus', 'namespace': '%s'}],
                 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': '%sRole', 'name': '%1$s'}}
                """.formatted(name, account, scope));
        // Roles hold once the API server has read them itself.
        String namespace = in.substring(in.lastIndexOf('/') + 1);
        await().atMost(START).until(() -> allowed(account, "watch", namespace, group, kind));
    }

    /** Whether the account of a namespace may do something with a kind of resources, in a namespace or in the cluster. */
    boolean allowed(String account, String verb, String namespace, String group, String kind)
            throws IOException, InterruptedException {
        return request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", """
                        {'spec': {'user': 'system:serviceaccount:%s:isthmus', 'resourceAttributes':
                          {'verb': '%s', 'namespace': '%s', 'group': '%s', 'resource': '%s'}}}
                        """.formatted(
                                account, verb, namespace, group, kind))
                .path("status")
                .path("allowed")
                .asBoolean();
    }

    /** A token of the account that is valid as long as a Secret exists, which is created. */
    String token(String namespace, String secret) throws IOException, InterruptedException {
        String in = "/api/v1/namespaces/" + namespace;
        String uid = request("POST", in + "/secrets", "{'metadata': {'name': '" + secret + "'}}")
                .path("metadata")
                .path("uid")
                .asText();
        return request("POST", in + "/serviceaccounts/isthmus/token", """
                        {'spec': {'boundObjectRef': {'apiVersion': 'v1', 'kind': 'Secret', 'name': '%s', 'uid': '%s'}}}
                        """.formatted(secret, uid))
                .path("status")
                .path("token")
                .asText();
    }

    /** The conditions of a pod's endpoint in an EndpointSlice. */
    enum PodState {
        READY("'ready': true, 'serving': true, 'terminating': false"),
        NOT_READY("'ready': false, 'serving': false, 'terminating': false"),
        TERMINATING("'ready': false, 'serving': true, 'terminating': true");

        private final String conditions;

        PodState(String conditions) {
            this.conditions = conditions;
        }
    }

    /** Creates or replaces an EndpointSlice with one endpoint: this port of this machine, named {@code grpc}. */
    void slice(String namespace, String service, String name, int port, PodState pod)
            throws IOException, InterruptedException {
        slice(namespace, service, name, "grpc", port, pod);
    }

    /** Creates or replaces an EndpointSlice with one endpoint: this port of this machine, with a name. */
    void slice(String namespace, String service, String name, String portName, int port, PodState pod)
            throws IOException, InterruptedException {
        String path = "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices";
        String slice = """
                {'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'metadata': {'name': '%s',
                 'labels': {'kubernetes.io/service-name': '%s'}}, 'addressType': 'IPv4',
                 'ports': [{'name': '%s', 'port': %d, 'protocol': 'TCP'}],
                 'endpoints': [{'addresses': ['%s'], 'conditions': {%s}}]}
                """.formatted(name, service, portName, port, address(), pod.conditions);
        boolean there = send("GET", path + "/" + name, "").statusCode() == 200;
        request(there ? "PUT" : "POST", there ? path + "/" + name : path, slice);
    }

    void deleteSlice(String namespace, String name) throws IOException, InterruptedException {
        request("DELETE", "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices/" + name, "");
    }

    /** An address of this machine: Kubernetes takes no loopback addresses as endpoints. */
    static String address() {
        try {
            return NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(each ->
                            each instanceof Inet4Address && !each.isLoopbackAddress() && !each.isLinkLocalAddress())
                    .findFirst()
                    .orElseThrow(
                            () -> new IllegalStateException(
                                    "this machine has no IPv4 address but loopback, which Kubernetes does not take as endpoint"))
                    .getHostAddress();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        stopApiServer();
        etcd.destroyForcibly().onExit().join();
        client.shutdownNow();
    }
}
