package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gateways that share limits in the master that real sentinels name, over TLS, with users of few rights. */
class SharedSentinelTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    static Path folder = Path.of(".");

    private static final List<RedisServer> ALL = new ArrayList<>();
    private static final List<RedisServer> SENTINELS = new ArrayList<>();
    private static RedisTls tls;
    private static RedisServer master;
    private static RedisServer old;
    private static RedisServer other;

    @BeforeAll
    static void start() throws Exception {
        tls = new RedisTls(folder);
        master = server("master");
        server("replica", "--replicaof", "127.0.0.1", Integer.toString(master.port()));
        old = server("old");
        other = server("other");
        for (int i = 0; i < 3; i++) {
            Path own = Files.createDirectory(folder.resolve("sentinel" + i));
            SENTINELS.add(RedisServer.sentinel(own, tls, """
                    sentinel monitor failing 127.0.0.1 %d 2
                    sentinel down-after-milliseconds failing 3000
                    sentinel failover-timeout failing 10000
                    sentinel monitor moving 127.0.0.1 %d 2
                    sentinel down-after-milliseconds moving 60000
                    user isthmus on >watch +ping +sentinel|get-master-addr-by-name
                    """.formatted(master.port(), old.port())));
        }
        RedisTls.password(folder.resolve("password"), RedisTls.PASSWORD);
        RedisTls.password(folder.resolve("watch"), "watch");
    }

    private static RedisServer server(String name, String... options) throws Exception {
        RedisServer server = RedisServer.secure(Files.createDirectory(folder.resolve(name)), tls, List.of(), options);
        ALL.add(server);
        return server;
    }

    @AfterAll
    static void stop() {
        SENTINELS.forEach(RedisServer::close);
        ALL.forEach(RedisServer::close);
    }

    /** The first sentinel of its list does not exist. */
    private static SharedGateway gateway(String name) throws Exception {
        return SharedGateway.start("""
                shared:
                  sentinel:
                    master: %s
                    endpoints: ["127.0.0.1:1", "127.0.0.1:%d", "127.0.0.1:%d", "127.0.0.1:%d"]
                    database: 2
                    user: isthmus
                    password_file: "%s"
                  tls: true
                  ca: "%s"
                  user: isthmus
                  password_file: "%s"
                  timeout: 10s
                  recovery: 1s
                  on_failure: closed
                  prefix: "isthmus:%s:"
                """.formatted(
                        name,
                        SENTINELS.get(0).port(),
                        SENTINELS.get(1).port(),
                        SENTINELS.get(2).port(),
                        folder.resolve("watch"),
                        tls.ca(),
                        folder.resolve("password"),
                        name));
    }

    @Test
    void masterEnds_itsReplicaGoesOnCounting() throws Exception {
        // Sentinels that do not know of each other yet respond with errors.
        await().atMost(PATIENCE).ignoreExceptions().until(() -> {
            for (RedisServer sentinel : SENTINELS) {
                boolean knowsAll = sentinel.command("SENTINEL CKQUORUM failing").startsWith("+OK 3")
                        && sentinel.command("SENTINEL REPLICAS failing").equals("*1");
                if (!knowsAll) {
                    return false;
                }
            }
            return master.command("SET isthmus:x 1", "WAIT 1 1000").equals(":1");
        });
        try (SharedGateway first = gateway("failing");
                SharedGateway second = gateway("failing")) {
            assertThat(first.admitted("a", 2)).isEqualTo(2);
            assertThat(second.admitted("a", 1)).isEqualTo(1);
            await().atMost(PATIENCE)
                    .until(() ->
                            master.command("SET isthmus:x 1", "WAIT 1 1000").equals(":1"));
            master.kill();
            await().atMost(PATIENCE).until(() -> first.lost() > 0 && second.lost() > 0);
            assertThat(second.admitted("a", 5)).isEqualTo(2);
            assertThat(first.admitted("a", 1)).isZero();
        }
    }

    @Test
    void sentinelsNameAnotherServer_itIsUsed_althoughTheFormerAnswers() throws Exception {
        try (SharedGateway gateway = gateway("moving")) {
            assertThat(gateway.admitted("a", 1)).isEqualTo(1);
            for (RedisServer sentinel : SENTINELS) {
                sentinel.command("SENTINEL REMOVE moving", "SENTINEL MONITOR moving 127.0.0.1 " + other.port() + " 2");
            }
            await().atMost(PATIENCE)
                    .until(() -> other.command("SELECT 2", "EXISTS isthmus:moving:probe")
                            .equals(":1"));
            assertThat(old.command("PING")).isEqualTo("+PONG");
            assertThat(gateway.admitted("a", 7)).isEqualTo(5);
        }
    }

    @Test
    void unknownMaster_isNone() throws Exception {
        try (SharedGateway gateway = gateway("nobody")) {
            assertThat(gateway.up()).isFalse();
            assertThat(gateway.status("a")).isEqualTo(503);
        }
    }
}
