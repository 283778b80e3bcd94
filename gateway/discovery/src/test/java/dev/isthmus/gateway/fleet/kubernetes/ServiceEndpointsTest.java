package dev.isthmus.gateway.fleet.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.kubernetes.KubernetesDiscovery.EndpointSlice;
import dev.isthmus.gateway.fleet.kubernetes.KubernetesDiscovery.ServiceEndpoints;
import dev.isthmus.gateway.fleet.kubernetes.KubernetesDiscovery.ServiceEndpoints.FoundServers;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ServiceEndpointsTest {
    private static final String GRPC = "[{name: 'grpc', port: 8001, protocol: 'TCP'}]";

    private static EndpointSlice slice(String type, String ports, String endpoints) throws Exception {
        String json = "{metadata: {name: 's'}, addressType: '" + type + "', ports: " + ports + ", endpoints: ["
                + endpoints + "]}";
        return EndpointSlice.of(JsonMapper.builder()
                .enable(com.fasterxml.jackson.core.json.JsonReadFeature.ALLOW_UNQUOTED_FIELD_NAMES)
                .enable(com.fasterxml.jackson.core.json.JsonReadFeature.ALLOW_SINGLE_QUOTES)
                .build()
                .readTree(json));
    }

    private static String endpoint(String address, String conditions, String... zones) {
        List<String> hints = new ArrayList<>();
        for (String zone : zones) {
            hints.add("{name: '" + zone + "'}");
        }
        return "{addresses: ['" + address + "'], conditions: {" + conditions + "}, hints: {forZones: " + hints + "}}";
    }

    private static FoundServers find(@Nullable String port, @Nullable String zone, EndpointSlice... slices) {
        return new ServiceEndpoints(new KubernetesService("ml", "triton", port), zone).of(List.of(slices));
    }

    private static List<String> addresses(FoundServers found) {
        return found.servers().stream().map(each -> each.address().authority()).toList();
    }

    @Test
    void readyEndpoints_areServers_withTheServicesName() throws Exception {
        FoundServers found = find("grpc", null, slice("IPv4", GRPC, endpoint("10.0.0.1", "ready: true")));
        assertThat(found.problem()).isNull();
        assertThat(found.servers())
                .containsExactly(new DiscoveredServer(new Endpoint("10.0.0.1", 8001), "triton.ml.svc:8001"));
    }

    @ParameterizedTest
    @CsvSource({
        "'',true",
        "ready: true,true",
        "ready: null,true",
        "'ready: true, serving: true, terminating: false',true",
        "'ready: true, terminating: null',true",
        "ready: false,false",
        "'ready: false, serving: true',false",
        "'ready: false, serving: true, terminating: true',false",
        "'ready: false, serving: false, terminating: true',false",
        // A Service that publishes addresses that are not ready.
        "'ready: true, serving: true, terminating: true',false",
        "terminating: true,false"
    })
    void conditions_decideAboutNewCalls(String conditions, boolean usable) throws Exception {
        FoundServers found = find("grpc", null, slice("IPv4", GRPC, endpoint("10.0.0.1", conditions)));
        assertThat(found.servers()).hasSize(usable ? 1 : 0);
        assertThat(found.problem()).isEqualTo(usable ? null : "has no ready endpoint among 1");
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                // Zone of the gateway, hints of three endpoints, those in use.
                "-,a,b,c,123",
                "a,a,b,c,1",
                "a,a,a,b,12",
                "a,a+b,b,c,1",
                "a,a,-,b,123",
                "d,a,b,c,123",
                "a,-,-,-,123"
            })
    void zoneHints(
            @Nullable String zone, @Nullable String one, @Nullable String two, @Nullable String three, String used)
            throws Exception {
        List<String> endpoints = new ArrayList<>();
        int number = 0;
        for (String hints : new @Nullable String[] {one, two, three}) {
            number++;
            endpoints.add(endpoint(
                    "10.0.0." + number, "ready: true", hints == null ? new String[0] : hints.split("\\+", -1)));
        }
        FoundServers found = find("grpc", zone, slice("IPv4", GRPC, String.join(", ", endpoints)));
        assertThat(String.join(
                        "",
                        addresses(found).stream()
                                .map(each -> each.substring(7, 8))
                                .toList()))
                .isEqualTo(used);
    }

    @Test
    void zoneWithoutReadyEndpoints_fallsBackToAll() throws Exception {
        FoundServers found = find(
                "grpc",
                "a",
                slice("IPv4", GRPC, endpoint("10.0.0.1", "ready: false", "a") + "," + endpoint("10.0.0.2", "", "b")));
        assertThat(addresses(found)).containsExactly("10.0.0.2:8001");
    }

    @Test
    void portsOfSlices_mayDiffer() throws Exception {
        FoundServers found = find(
                "grpc",
                null,
                slice("IPv4", GRPC, endpoint("10.0.0.1", "")),
                slice("IPv4", "[{name: 'http', port: 8000}, {name: 'grpc', port: 9001}]", endpoint("10.0.0.2", "")));
        assertThat(addresses(found)).containsExactly("10.0.0.1:8001", "10.0.0.2:9001");
    }

    @Test
    void onlyPort_needsNoName() throws Exception {
        assertThat(addresses(find(null, null, slice("IPv4", "[{name: '', port: 80}]", endpoint("10.0.0.1", "")))))
                .containsExactly("10.0.0.1:80");
        assertThat(addresses(find(null, null, slice("IPv4", GRPC, endpoint("10.0.0.1", "")))))
                .containsExactly("10.0.0.1:8001");
    }

    @Test
    void severalPorts_needAName() throws Exception {
        String ports = "[{name: 'http', port: 8000}, {name: 'grpc', port: 8001}]";
        assertThat(find(null, null, slice("IPv4", ports, endpoint("10.0.0.1", "")))
                        .problem())
                .isEqualTo("has several ports; the name of one is expected: grpc, http");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "[{name: 'http', port: 8000}]",
                "[{name: 'http', port: 8000}, {name: 'grpc', port: 1, protocol: 'UDP'}]"
            })
    void unknownPort_isNamed_withThoseThatThereAre(String ports) throws Exception {
        assertThat(find("grpc", null, slice("IPv4", ports, endpoint("10.0.0.1", "")))
                        .problem())
                .isEqualTo("has no TCP port named 'grpc'; its ports are: http");
    }

    @Test
    void bothFamilies_areTheSameServers() throws Exception {
        EndpointSlice four = slice("IPv4", GRPC, endpoint("10.0.0.1", ""));
        EndpointSlice six = slice("IPv6", GRPC, endpoint("fd00::1", ""));
        assertThat(addresses(find("grpc", null, six, four))).containsExactly("10.0.0.1:8001");
        assertThat(addresses(find("grpc", null, six))).containsExactly("[fd00::1]:8001");
        assertThat(addresses(find("grpc", null, six, slice("IPv4", "null", ""))))
                .containsExactly("[fd00::1]:8001");
    }

    @Test
    void serviceWithoutSlices_isAProblem() {
        assertThat(find("grpc", null).problem())
                .isEqualTo("has no EndpointSlices; a Service with a selector is expected");
    }

    @Test
    void serviceScaledToZero_hasNoEndpoints() throws Exception {
        // The slice that the control plane leaves has no ports either.
        assertThat(find("grpc", null, slice("IPv4", "null", "")).problem()).isEqualTo("has no endpoints");
        assertThat(find(null, null, slice("IPv4", "null", "")).problem()).isEqualTo("has no endpoints");
    }

    @Test
    void names_areNoAddresses() throws Exception {
        assertThat(find("grpc", null, slice("FQDN", GRPC, endpoint("a.example", "")))
                        .problem())
                .isEqualTo("has no addresses of type IPv4 or IPv6");
        assertThat(find("grpc", null, slice("IPv4", GRPC, endpoint("a.example", "")))
                        .servers())
                .isEmpty();
    }
}
