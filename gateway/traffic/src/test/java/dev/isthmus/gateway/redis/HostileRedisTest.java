package dev.isthmus.gateway.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.redis.FleetSharing.RedisTokens;
import dev.isthmus.gateway.redis.RedisConnection.RedisMeters;
import dev.isthmus.gateway.redis.TokenStore.Grant;
import dev.isthmus.gateway.redis.TokenStore.TokenBucketKey;
import dev.isthmus.gateway.settings.SharedConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that answers as Redis does until a script is run. */
class HostileRedisTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final TokenBucketKey BUCKET =
            new TokenBucketKey("limit", 1, Duration.ofSeconds(1).toNanos());
    private static final String GRANT = "*3\r\n:1\r\n:0\r\n:5\r\n";

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private ServerSocket server;
    private SharedConfig config;
    private RedisConnection connection;
    private volatile String answer = GRANT;

    @BeforeEach
    void start() throws IOException {
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        threads.execute(this::accept);
        config = new SharedConfig(
                "redis://127.0.0.1:" + server.getLocalPort(),
                null,
                List.of(),
                false,
                null,
                null,
                null,
                null,
                null,
                Duration.ofSeconds(10),
                Duration.ofMillis(100),
                SharedConfig.FailureMode.LOCAL,
                "isthmus:");
        connection = new RedisConnection(config, new RedisMeters(new SimpleMeterRegistry()));
        connection.open();
        await().atMost(PATIENCE).until(connection::answers);
    }

    @AfterEach
    void stop() throws IOException {
        connection.close();
        server.close();
        threads.shutdownNow();
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket client = server.accept();
                threads.execute(() -> serve(client));
            } catch (IOException closed) {
                return;
            }
        }
    }

    private void serve(Socket client) {
        try (client) {
            OutputStream out = client.getOutputStream();
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                int words = Integer.parseInt(line.substring(1));
                String command = "";
                for (int i = 0; i < words; i++) {
                    char[] word = new char[Integer.parseInt(in.readLine().substring(1))];
                    assertThat(in.read(word)).isEqualTo(word.length);
                    in.readLine();
                    command = i == 0 ? new String(word).toUpperCase(Locale.ROOT) : command;
                }
                if (command.equals("EVALSHA") && answer.isEmpty()) {
                    return;
                }
                String response = command.equals("EVALSHA") ? answer : command.equals("PING") ? "+PONG\r\n" : "+OK\r\n";
                out.write(response.getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException gone) {
            // The client has closed the connection.
        }
    }

    /** Their buffers are released: each class is checked for that. */
    @Test
    void connectionsThatAreBeingMade_endWithTheirClient() {
        for (int i = 0; i < 100; i++) {
            RedisServers servers = new RedisServers(config, what -> {});
            servers.connect();
            servers.close();
        }
    }

    private Grant take() throws Exception {
        return new RedisTokens(connection, "isthmus:").take(BUCKET, 1, 0).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Again and again: on a busy machine the connection may be left for a while, as if the server had not answered. */
    private void assertGranted() {
        await().atMost(PATIENCE)
                .ignoreException(ExecutionException.class)
                .untilAsserted(() -> assertThat(take()).isEqualTo(new Grant(1, 0, 5000)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "*2147483647\r\n",
                "$536870912\r\n",
                "*1\r\n*1\r\n*1\r\n*2147483647\r\n",
                "*3\r\n:1\r\n$2147483640\r\n",
                "%2147483647\r\n",
                "+OK\r\n",
                ":1\r\n",
                "*3\r\n:1\r\n:0\r\n+x\r\n",
            })
    void answerThatCannotBe_isNone(String hostile) throws Exception {
        assertGranted();
        answer = hostile;
        assertThatThrownBy(this::take)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(Exception.class)
                .cause()
                .isNotInstanceOf(VirtualMachineError.class);
        answer = GRANT;
        await().atMost(PATIENCE).until(connection::answers);
        assertGranted();
    }

    @Test
    void answersThatNobodyAskedFor_endTheConnection() throws Exception {
        answer = GRANT + ("+" + "x".repeat(1000) + "\r\n").repeat(1000);
        connection.run(RedisScript.GIVE_BACK, "key", Function.identity(), late -> {});
        await().atMost(PATIENCE).until(() -> !connection.answers());
        answer = GRANT;
        await().atMost(PATIENCE).until(connection::answers);
        assertGranted();
    }

    private static Object field(Object of, String name) throws ReflectiveOperationException {
        for (Class<?> type = of.getClass(); type != null; type = type.getSuperclass()) {
            for (Field each : type.getDeclaredFields()) {
                if (each.getName().equals(name)) {
                    each.setAccessible(true);
                    return each.get(of);
                }
            }
        }
        throw new NoSuchFieldException(name);
    }

    /** What the client keeps of its connections. */
    private int kept() throws ReflectiveOperationException {
        return ((Collection<?>) field(field(field(connection, "servers"), "client"), "closeableResources")).size();
    }

    @Test
    void connectionsThatTheServerEnds_areNotKept() throws Exception {
        assertGranted();
        int before = kept();
        for (int i = 0; i < 3; i++) {
            answer = "";
            assertThatThrownBy(this::take).isInstanceOf(ExecutionException.class);
            answer = GRANT;
            assertGranted();
        }
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(kept()).isEqualTo(before));
    }
}
