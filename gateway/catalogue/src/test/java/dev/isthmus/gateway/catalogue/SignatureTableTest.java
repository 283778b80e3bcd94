package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.catalogue.MergedModel.ModelDescription;
import dev.isthmus.gateway.catalogue.ModelMetadataCache.SignatureTable;
import dev.isthmus.gateway.validation.DeclaredSignatures;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** When the metadata of models are looked up for calls, and how long they hold. */
class SignatureTableTest {
    private static final ModelRef OURS = ModelRef.of("ours");
    private static final ModelRef THEIRS = ModelRef.of("theirs");

    private long now;
    private final SignatureTable table = new SignatureTable(() -> now);

    private void pass(int seconds) {
        now += Duration.ofSeconds(seconds).toNanos();
    }

    private DeclaredSignatures known() {
        return table.of(OURS, "u", THEIRS);
    }

    private static ModelDescription description(String server, String datatype) {
        TensorMetadata input = new TensorMetadata("x", datatype, Shape.of(-1), Map.of());
        return new ModelDescription(
                new ServerId("u", server),
                THEIRS,
                true,
                new ModelMetadata("theirs", List.of(), "", List.of(input), List.of(), Map.of()));
    }

    @Test
    void unknownModel_isDueOnce_whenACallHasAskedForIt() {
        assertThat(table.due()).isEmpty();
        assertThat(known()).isEqualTo(DeclaredSignatures.UNKNOWN);
        assertThat(table.due()).containsExactly(OURS);
        assertThat(table.due()).isEmpty();
    }

    @Test
    void serversThatDeclareTheSame_areOne() {
        table.found(OURS, List.of(description("a", "FP32"), description("b", "FP32"), description("c", "INT8")), true);
        assertThat(known().signatures()).hasSize(2);
        assertThat(known().complete()).isTrue();
        assertThat(table.of(OURS, "other", THEIRS).known()).isFalse();
    }

    @Test
    void usedModel_isRenewed_othersAreForgotten() {
        table.found(OURS, List.of(description("a", "FP32")), true);
        pass(41);
        assertThat(table.due()).isEmpty();
        assertThat(known().known()).isTrue();
        assertThat(table.due()).containsExactly(OURS);
        table.found(OURS, List.of(description("a", "FP32")), false);
        assertThat(known().complete()).isFalse();
        pass(76);
        assertThat(table.due()).isEmpty();
        assertThat(known().known()).isFalse();
    }

    @Test
    void refusedRequest_hasTheModelReadAgain_afterASecond() {
        table.found(OURS, List.of(description("a", "FP32")), true);
        table.refused(OURS, "u", THEIRS);
        assertThat(table.due()).isEmpty();
        pass(2);
        table.refused(OURS, "u", THEIRS);
        assertThat(table.due()).containsExactly(OURS);
        assertThat(known().known()).isTrue();
    }
}
