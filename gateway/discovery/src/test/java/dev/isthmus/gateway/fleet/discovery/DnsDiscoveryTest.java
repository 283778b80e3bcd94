package dev.isthmus.gateway.fleet.discovery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.upstream.FileShortage;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.resolver.dns.SingletonDnsServerAddressStreamProvider;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DnsDiscoveryTest {
    private static final Duration REFRESH = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final MultiThreadIoEventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final NameServer names = new NameServer(loops.next());
    private final List<Registration> watches = new ArrayList<>();
    private final Map<ServerAddress, DnsDiscovery.DnsWatcher> known = new HashMap<>();
    private volatile List<DiscoveredServer> found = List.of();
    private volatile boolean refuses;

    @AfterEach
    void close() {
        watches.forEach(Registration::close);
        names.close();
        loops.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    private void watch(Duration refresh, List<String> searchDomains, ServerAddress... addresses) throws Exception {
        DnsDiscovery discovery = new DnsDiscovery(
                loops.next(), new SingletonDnsServerAddressStreamProvider(names.address()), searchDomains, known);
        Registration watch = discovery.watch(List.of(addresses), refresh, this::hear);
        watches.add(watch);
        watch.first().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private void hear(List<DiscoveredServer> now) {
        if (refuses) {
            refuses = false;
            throw new IllegalStateException("not now");
        }
        found = List.copyOf(now);
    }

    private static ServerAddress host(String name, int port) {
        return new ServerAddress.HostAddress(new Endpoint(name, port));
    }

    private static DiscoveredServer found(String address, int port, String authority) {
        return new DiscoveredServer(new Endpoint(address, port), authority);
    }

    @Test
    void hostName_isAllItsAddresses() throws Exception {
        names.host("triton.test", 60, "10.0.0.1", "10.0.0.2");

        watch(REFRESH, List.of(), host("triton.test", 8001));

        assertThat(found)
                .containsExactlyInAnyOrder(
                        found("10.0.0.1", 8001, "triton.test:8001"), found("10.0.0.2", 8001, "triton.test:8001"));
    }

    @Test
    void hostOfTheHostsFile_isFoundThere() throws Exception {
        watch(REFRESH, List.of(), host("localhost", 8001));

        assertThat(found).containsExactly(found("127.0.0.1", 8001, "localhost:8001"));
    }

    /** Of those that this machine has. */
    @Test
    void localhost_isTheFamilyThatAServerListensOn() throws Exception {
        for (String address : List.of("127.0.0.1", "::1")) {
            InetAddress loopback = InetAddress.ofLiteral(address);
            if (NetworkInterface.getByInetAddress(loopback) != null) {
                try (ServerSocket server = new ServerSocket(0, 1, loopback)) {
                    watch(REFRESH, List.of(), host("localhost", server.getLocalPort()));

                    assertThat(found)
                            .containsExactly(
                                    found(address, server.getLocalPort(), "localhost:" + server.getLocalPort()));
                }
            }
        }
    }

    /** It is to be known which family the server listens on. */
    @Test
    void localhost_isFoundAlthoughThereAreTooManyOpenFiles() throws Exception {
        EventLoop loop = loops.next();
        DnsDiscovery discovery =
                new DnsDiscovery(loop, new SingletonDnsServerAddressStreamProvider(names.address()), List.of(), known);
        CountDownLatch begun = new CountDownLatch(1);
        Future<FileShortage> shortage = loop.submit(() -> {
            begun.await();
            return FileShortage.begin();
        });
        Registration watch = discovery.watch(List.of(host("localhost", 8001)), REFRESH, this::hear);
        watches.add(watch);
        Future<?> restored = loop.submit(() -> shortage.getNow().close());
        begun.countDown();
        restored.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        watch.first().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);

        assertThat(found).containsExactly(found("127.0.0.1", 8001, "localhost:8001"));
    }

    @Test
    void hostInASearchDomain_isFound() throws Exception {
        names.host("triton.fleet.test", 60, "10.0.0.1");

        watch(REFRESH, List.of("fleet.test"), host("triton", 8001));

        assertThat(found).containsExactly(found("10.0.0.1", 8001, "triton:8001"));
    }

    @Test
    void service_isTheAddressesOfItsTargets() throws Exception {
        names.service("_grpc._tcp.triton.test", 60, "0 8001 a.test", "0 9001 b.test");
        names.host("a.test", 60, "10.0.0.1");
        names.host("b.test", 60, "10.0.0.2", "10.0.0.3");

        watch(REFRESH, List.of(), new ServerAddress.SrvAddress("_grpc._tcp.triton.test"));

        assertThat(found)
                .containsExactlyInAnyOrder(
                        found("10.0.0.1", 8001, "a.test:8001"),
                        found("10.0.0.2", 9001, "b.test:9001"),
                        found("10.0.0.3", 9001, "b.test:9001"));
    }

    @Test
    void service_ofSeveralPriorities_isTheFirst() throws Exception {
        names.service("_grpc._tcp.triton.test", 60, "5 8001 b.test", "1 8001 a.test");
        names.host("a.test", 60, "10.0.0.1");
        names.host("b.test", 60, "10.0.0.2");

        watch(REFRESH, List.of(), new ServerAddress.SrvAddress("_grpc._tcp.triton.test"));

        assertThat(found).containsExactly(found("10.0.0.1", 8001, "a.test:8001"));
    }

    @Test
    void serviceInASearchDomain_isFound() throws Exception {
        names.service("_grpc._tcp.triton.fleet.test", 60, "0 8001 a.fleet.test");
        names.host("a.fleet.test", 60, "10.0.0.1");

        watch(REFRESH, List.of("fleet.test"), new ServerAddress.SrvAddress("_grpc._tcp.triton"));

        assertThat(found).containsExactly(found("10.0.0.1", 8001, "a.fleet.test:8001"));
    }

    @Test
    void serviceWithoutOneOfItsTargets_isTheOthers() throws Exception {
        names.service("_grpc._tcp.triton.test", 60, "0 8001 gone.test", "0 8001 a.test");
        names.host("a.test", 60, "10.0.0.1");

        watch(REFRESH, List.of(), new ServerAddress.SrvAddress("_grpc._tcp.triton.test"));

        assertThat(found).containsExactly(found("10.0.0.1", 8001, "a.test:8001"));
    }

    @Test
    void targetWithoutAPort_isLeftOut() throws Exception {
        names.service("_grpc._tcp.triton.test", 60, "0 0 b.test", "0 8001 a.test");
        names.host("a.test", 60, "10.0.0.1");
        names.host("b.test", 60, "10.0.0.2");

        watch(REFRESH, List.of(), new ServerAddress.SrvAddress("_grpc._tcp.triton.test"));

        assertThat(found).containsExactly(found("10.0.0.1", 8001, "a.test:8001"));
    }

    @Test
    void listenerThatThrows_hearsOfTheNextLookUp() throws Exception {
        names.host("a.test", 1, "10.0.0.1");
        watch(REFRESH, List.of(), host("a.test", 8001));
        refuses = true;
        await().atMost(PATIENCE).until(() -> !refuses);

        names.host("a.test", 1, "10.0.0.2");

        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(found).containsExactly(found("10.0.0.2", 8001, "a.test:8001")));
    }

    @Test
    void severalNames_areOneSet() throws Exception {
        names.host("a.test", 60, "10.0.0.1");
        names.host("b.test", 60, "10.0.0.2");

        watch(REFRESH, List.of(), host("a.test", 8001), host("b.test", 8002));

        assertThat(found)
                .containsExactly(found("10.0.0.1", 8001, "a.test:8001"), found("10.0.0.2", 8002, "b.test:8002"));
    }

    @Test
    void hostOfBothFamilies_isItsIpv4Addresses() throws Exception {
        names.host("a.test", 60, "fd00::1", "10.0.0.1");

        watch(REFRESH, List.of(), host("a.test", 8001));

        assertThat(found).containsExactly(found("10.0.0.1", 8001, "a.test:8001"));
    }

    @Test
    void addressesThatChange_areSeenAfterTheTimeToLive() throws Exception {
        names.host("a.test", 1, "10.0.0.1");
        watch(REFRESH, List.of(), host("a.test", 8001));

        names.host("a.test", 1, "10.0.0.2");

        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(found).containsExactly(found("10.0.0.2", 8001, "a.test:8001")));
    }

    @Test
    void targetsThatChange_areSeenAfterTheTimeToLive() throws Exception {
        names.service("_grpc._tcp.triton.test", 1, "0 8001 a.test");
        names.host("a.test", 60, "10.0.0.1");
        names.host("b.test", 60, "10.0.0.2");
        ServerAddress service = new ServerAddress.SrvAddress("_grpc._tcp.triton.test");
        watch(REFRESH, List.of(), service);

        names.service("_grpc._tcp.triton.test", 60, "0 8001 b.test");

        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(found).containsExactly(found("10.0.0.2", 8001, "b.test:8001")));
    }

    @Test
    void longTimeToLive_isBoundedByTheRefresh() throws Exception {
        names.host("a.test", 3600, "10.0.0.1");
        watch(Duration.ofMillis(1500), List.of(), host("a.test", 8001));

        names.host("a.test", 3600, "10.0.0.2");

        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(found).containsExactly(found("10.0.0.2", 8001, "a.test:8001")));
    }

    @Test
    void failedLookUp_leavesWhatWasFound() throws Exception {
        names.host("a.test", 1, "10.0.0.1");
        names.host("b.test", 1, "10.0.0.2");
        watch(REFRESH, List.of(), host("a.test", 8001), host("b.test", 8001));
        names.failing(true);
        int before = names.questions.get();
        await().atMost(PATIENCE).until(() -> names.questions.get() > before + 4);
        assertThat(found).hasSize(2);

        names.host("a.test", 1, "10.0.0.3");
        names.failing(false);

        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(found)
                        .containsExactly(
                                found("10.0.0.3", 8001, "a.test:8001"), found("10.0.0.2", 8001, "b.test:8001")));
    }

    /** As of a configuration that changes the upstream. */
    @Test
    void watchThatBeginsWhileLookUpsFail_hasWhatAnotherOneFound() throws Exception {
        names.host("a.test", 60, "10.0.0.1");
        watch(REFRESH, List.of(), host("a.test", 8001));
        names.failing(true);
        found = List.of();

        watch(REFRESH, List.of(), host("a.test", 8001));

        assertThat(found).containsExactly(found("10.0.0.1", 8001, "a.test:8001"));
        watches.forEach(Registration::close);
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(loops.next().submit(known::isEmpty).get()).isTrue());
    }

    @Test
    void unknownName_endsTheFirstLookUpAllTheSame() throws Exception {
        watch(REFRESH, List.of(), host("nobody.test", 8001));

        assertThat(found).isEmpty();
        names.host("nobody.test", 60, "10.0.0.1");
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(found).containsExactly(found("10.0.0.1", 8001, "nobody.test:8001")));
    }
}
