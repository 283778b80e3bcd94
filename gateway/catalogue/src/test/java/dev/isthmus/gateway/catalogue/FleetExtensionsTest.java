package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.oip.ServerMetadata;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FleetExtensionsTest {
    private static final ServerMetadata SELF = new ServerMetadata("isthmus", "1", List.of("binary_tensor_data"));

    @Test
    void oneTriton_hasAllThatIsPassedOrMerged() throws IOException {
        assertThat(of(recorded("triton", false)))
                .containsExactly(
                        "binary_tensor_data",
                        "model_repository",
                        "statistics",
                        "classification",
                        "sequence",
                        "model_repository(unload_dependents)",
                        "schedule_policy",
                        "model_configuration",
                        "parameters",
                        "trace",
                        "logging");
    }

    @Test
    void tritonAndMlserver_haveWhatIsMergedOnly() throws IOException {
        assertThat(of(recorded("triton", true), recorded("mlserver", true)))
                .containsExactly("binary_tensor_data", "model_repository", "statistics");
    }

    @Test
    void kserve_itsNameOfTheRepositoryIsUnderstood() throws IOException {
        assertThat(of(recorded("kserve", true))).containsExactly("binary_tensor_data", "model_repository");
    }

    @Test
    void mlserver_withoutAName_hasWhatTheGatewayDoes() throws IOException {
        assertThat(of(recorded("mlserver", true))).containsExactly("binary_tensor_data");
    }

    @Test
    void noServerKnown_hasWhatTheGatewayDoes() {
        assertThat(of()).containsExactly("binary_tensor_data");
    }

    @Test
    void sharedMemory_oneServerWithout_isNotThere() throws IOException {
        assertThat(of(recorded("triton", true), recorded("triton", false))).noneMatch(name -> name.contains("shared"));
        assertThat(of(recorded("triton", true), recorded("triton", true)))
                .contains("system_shared_memory", "cuda_shared_memory");
    }

    @Test
    void unknownExtension_isNotPassed() {
        assertThat(of(FleetExtensions.known(List.of("teleport"), true))).containsExactly("binary_tensor_data");
    }

    @Test
    void ownNames_comeFirstOnce() {
        ServerMetadata self = new ServerMetadata("isthmus", "2", List.of("own", "statistics"));

        assertThat(FleetExtensions.of(self, List.of(FleetExtensions.known(List.of("statistics"), false))))
                .isEqualTo(new ServerMetadata("isthmus", "2", List.of("own", "statistics", "binary_tensor_data")));
    }

    @SafeVarargs
    private static List<String> of(Set<String>... servers) {
        List<Set<String>> all = new ArrayList<>();
        for (Set<String> each : servers) {
            all.add(each);
        }
        return FleetExtensions.of(SELF, all).extensions();
    }

    private static Set<String> recorded(String server, boolean sharedMemory) throws IOException {
        List<String> names = new ArrayList<>();
        for (JsonNode name : new ObjectMapper()
                .readTree(Golden.json(server + "_server_metadata"))
                .path("extensions")) {
            names.add(name.asText());
        }
        return FleetExtensions.known(names, sharedMemory);
    }
}
