package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.TestConfigs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gateways that share limits in a real Redis Cluster, over TLS, with a user of few rights. */
class SharedClusterTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final int SLOTS = 16_384;
    private static final int MASTERS = 3;

    @TempDir
    static Path folder = Path.of(".");

    /** The last one is a replica of the first. */
    private static final List<RedisServer> NODES = new ArrayList<>();

    private static RedisTls tls;

    @BeforeAll
    static void start() throws Exception {
        tls = new RedisTls(folder);
        List<Integer> busPorts = new ArrayList<>();
        for (int i = 0; i <= MASTERS; i++) {
            busPorts.add(TestConfigs.unusedEndpoint().port());
            NODES.add(RedisServer.secure(
                    Files.createDirectory(folder.resolve("node" + i)),
                    tls,
                    List.of("+cluster|nodes", "+cluster|myid", "+info", "+asking"),
                    "--cluster-enabled",
                    "yes",
                    "--cluster-port",
                    Integer.toString(busPorts.get(i)),
                    "--cluster-node-timeout",
                    "3000",
                    "--tls-cluster",
                    "yes"));
        }
        for (int i = 0; i < MASTERS; i++) {
            NODES.get(i)
                    .command("CLUSTER ADDSLOTSRANGE " + i * SLOTS / MASTERS + " " + ((i + 1) * SLOTS / MASTERS - 1));
            NODES.get(i).command("CLUSTER SET-CONFIG-EPOCH " + (i + 1));
        }
        for (int i = 1; i <= MASTERS; i++) {
            NODES.get(0).command("CLUSTER MEET 127.0.0.1 " + NODES.get(i).port() + " " + busPorts.get(i));
        }
        RedisServer replica = NODES.get(MASTERS);
        String first = NODES.getFirst().command("CLUSTER MYID");
        await().atMost(PATIENCE)
                .ignoreExceptions()
                .until(() -> replica.command("CLUSTER REPLICATE " + first).equals("+OK"));
        for (RedisServer node : NODES) {
            await().atMost(PATIENCE)
                    .until(() -> info(node, "cluster_state").equals("ok")
                            && info(node, "cluster_known_nodes").equals("4"));
        }
        await().atMost(PATIENCE).ignoreExceptions().until(SharedClusterTest::isSynced);
        RedisTls.password(folder.resolve("password"), RedisTls.PASSWORD);
    }

    private static String info(RedisServer node, String key) throws Exception {
        return node.text("CLUSTER INFO")
                .lines()
                .filter(line -> line.startsWith(key + ":"))
                .map(line -> line.substring(key.length() + 1))
                .findFirst()
                .orElse("");
    }

    /** Whether the replica has what its master has. */
    private static boolean isSynced() throws Exception {
        // The keys with this tag are stored on the first master.
        return NODES.getFirst().command("SET {3} 1", "WAIT 1 1000").equals(":1");
    }

    @AfterAll
    static void stop() {
        NODES.forEach(RedisServer::close);
    }

    /** The first node of its list does not exist, and the others are found through the second. */
    private static SharedGateway gateway(String prefix) throws Exception {
        return SharedGateway.start("""
                shared:
                  cluster: ["127.0.0.1:1", "127.0.0.1:%d"]
                  tls: true
                  ca: "%s"
                  user: isthmus
                  password_file: "%s"
                  timeout: 10s
                  recovery: 1s
                  on_failure: closed
                  prefix: "isthmus:%s:"
                """.formatted(NODES.get(1).port(), tls.ca(), folder.resolve("password"), prefix));
    }

    private static List<String> users(int count) {
        List<String> users = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            users.add("user" + i);
        }
        return users;
    }

    @Test
    void limits_areSharedOnAllNodes_andFollowTheirSlots() throws Exception {
        List<String> users = users(12);
        try (SharedGateway first = gateway("all");
                SharedGateway second = gateway("all")) {
            for (String user : users) {
                assertThat(first.admitted(user, 2)).isEqualTo(2);
            }
            for (RedisServer node : NODES) {
                assertThat(Integer.parseInt(node.command("DBSIZE").substring(1)))
                        .isPositive();
            }
            await().atMost(PATIENCE).ignoreExceptions().until(SharedClusterTest::isSynced);
            // Its master is told to become its replica, and from then on says where the slots are.
            NODES.get(MASTERS).command("CLUSTER FAILOVER");
            await().atMost(PATIENCE)
                    .until(() -> NODES.get(MASTERS).text("CLUSTER NODES").contains("myself,master"));
            for (String user : users) {
                assertThat(second.admitted(user, 4)).as(user).isEqualTo(3);
            }
            // The new master ends, and the former takes over again.
            await().atMost(PATIENCE)
                    .until(() -> NODES.getFirst().text("CLUSTER NODES").contains("myself,slave"));
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> NODES.get(MASTERS)
                            .command("SET {3} 1", "WAIT 1 1000")
                            .equals(":1"));
            NODES.get(MASTERS).kill();
            await().atMost(PATIENCE).until(() -> first.lost() > 0);
            for (String user : users) {
                assertThat(first.admitted(user, 1)).as(user).isZero();
            }
            assertThat(first.admitted("another", 6)).isEqualTo(5);
        }
    }
}
