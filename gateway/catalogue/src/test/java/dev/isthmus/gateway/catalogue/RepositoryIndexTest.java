package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryIndexResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RepositoryIndexTest {
    private static final ServerId ONE = new ServerId("triton", "1");
    private static final ServerId TWO = new ServerId("triton", "2");
    private static final ServerId THREE = new ServerId("triton", "3");
    private static final ServerId MLSERVER = new ServerId("mlserver", "1");

    @ParameterizedTest
    @CsvSource({
        "READY,READY",
        "State.READY,READY",
        "ready,READY",
        "LOADING,LOADING",
        "UNLOADING,UNLOADING",
        "State.UNAVAILABLE,UNAVAILABLE",
        "UNKNOWN,UNKNOWN",
        "dancing,UNKNOWN",
        "'',NONE"
    })
    void state_ofText(String text, ModelState state) {
        assertThat(ModelState.of(text)).isEqualTo(state);
    }

    @Test
    void state_ofNothingLoaded_isWrittenAsNothing() {
        assertThat(ModelState.NONE.text()).isEmpty();
        assertThat(ModelState.READY.text()).isEqualTo("READY");
    }

    @Test
    void oneTriton_isAsRecorded() throws IOException {
        RepositoryIndexResponse recorded = RepositoryIndexResponse.parseFrom(Golden.message("triton_repository_index"));

        assertThat(RepositoryIndex.of(List.of(IndexListing.of(ONE, recorded))).response(false))
                .isEqualTo(recorded);
    }

    @Test
    void mlserver_statesArePlainAndModelsWithoutVersionStay() throws IOException {
        IndexListing recorded = IndexListing.of(
                MLSERVER, RepositoryIndexResponse.parseFrom(Golden.message("mlserver_repository_index")));

        assertThat(RepositoryIndex.of(List.of(recorded)).entries(true))
                .containsExactly(
                        ready("fail", ""),
                        ready("identity", ""),
                        ready("iris", "v1"),
                        ready("slow", ""),
                        ready("special", ""),
                        ready("stream", ""),
                        ready("versioned", "v1"),
                        ready("versioned", "v2"));
    }

    @Test
    void tritonAndMlserver_versionsOfOneModelStandSideBySide() throws IOException {
        RepositoryIndex merged = RepositoryIndex.of(List.of(
                IndexListing.of(
                        MLSERVER, RepositoryIndexResponse.parseFrom(Golden.message("mlserver_repository_index"))),
                IndexListing.of(ONE, RepositoryIndexResponse.parseFrom(Golden.message("triton_repository_index")))));

        assertThat(merged.entries(false))
                .filteredOn(entry -> entry.name().equals("versioned"))
                .containsExactly(
                        ready("versioned", "1"),
                        ready("versioned", "3"),
                        ready("versioned", "v1"),
                        ready("versioned", "v2"));
    }

    @Test
    void kserve_listOfNames_getsItsStatesFromTheProber() throws IOException {
        IndexListing recorded = IndexListing.ofNames(
                new ServerId("kserve", "1"), Golden.json("kserve_models_list"), name -> !name.equals("slow"));

        assertThat(RepositoryIndex.of(List.of(recorded)).entries(false))
                .containsExactly(
                        ready("fail", ""),
                        ready("identity", ""),
                        ready("numpy", ""),
                        entry("slow", "", ModelState.UNAVAILABLE, ""),
                        ready("special", ""));
    }

    @Test
    void kserve_listThatIsNone_isAFailure() {
        for (String json : List.of("", "[]", "{\"detail\":\"Not Found\"}", "{\"models\":", "nope")) {
            IndexListing listing = IndexListing.ofNames(ONE, json.getBytes(StandardCharsets.UTF_8), name -> true);

            assertThat(listing)
                    .as(json)
                    .isInstanceOfSatisfying(
                            IndexListing.FailedListing.class,
                            failed -> assertThat(failed.failure().code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER));
        }
    }

    @Test
    void allReplicasReady_giveNoReason() {
        assertThat(merge(listed(ONE, ready("m", "1")), listed(TWO, ready("m", "1")))
                        .entries(false))
                .containsExactly(ready("m", "1"));
    }

    @Test
    void someReplicasReady_isReadyWithCounts() {
        assertThat(merge(
                                listed(ONE, ready("m", "1")),
                                listed(TWO, entry("m", "1", ModelState.UNAVAILABLE, "unloaded")),
                                listed(THREE, ready("m", "1")))
                        .entries(true))
                .containsExactly(entry("m", "1", ModelState.READY, "ready on 2 of 3: triton"));
    }

    @Test
    void replicaThatDoesNotListTheModel_counts() {
        assertThat(merge(listed(ONE, ready("m", "1")), listed(TWO)).entries(true))
                .containsExactly(entry("m", "1", ModelState.READY, "ready on 1 of 2: triton"));
    }

    @Test
    void replicaThatFailed_counts() {
        assertThat(merge(listed(ONE, ready("m", "1")), failed(TWO, ErrorCode.UNAVAILABLE))
                        .entries(true))
                .containsExactly(entry("m", "1", ModelState.READY, "ready on 1 of 2: triton"));
    }

    @Test
    void upstreamThatDoesNotHaveTheVersion_doesNotCount() {
        assertThat(merge(listed(ONE, ready("m", "1")), listed(MLSERVER, ready("m", "2")))
                        .entries(true))
                .containsExactly(ready("m", "1"), ready("m", "2"));
    }

    @Test
    void twoUpstreams_countsOfEach() {
        assertThat(merge(
                                listed(ONE, ready("m", "1")),
                                listed(TWO, entry("m", "1", ModelState.LOADING, "")),
                                listed(MLSERVER, ready("m", "1")))
                        .entries(true))
                .containsExactly(entry("m", "1", ModelState.READY, "ready on 2 of 3: triton 1 of 2, mlserver 1 of 1"));
    }

    @Test
    void noReplicaReady_isTheMostAdvancedStateWithItsReason() {
        RepositoryIndex merged = merge(
                listed(ONE, entry("m", "1", ModelState.UNAVAILABLE, "unloaded")),
                listed(TWO, entry("m", "1", ModelState.LOADING, "half way")));

        assertThat(merged.entries(false)).containsExactly(entry("m", "1", ModelState.LOADING, "half way"));
        assertThat(merged.entries(true)).isEmpty();
    }

    @Test
    void modelThatIsNotLoadedAnywhere_staysWithoutState() {
        assertThat(merge(listed(ONE, entry("m", "", ModelState.NONE, "")), failed(TWO, ErrorCode.UNAVAILABLE))
                        .entries(false))
                .containsExactly(entry("m", "", ModelState.NONE, ""));
    }

    @Test
    void modelThatIsLoadedElsewhere_isNotReportedTwice() {
        assertThat(merge(
                                listed(ONE, entry("m", "", ModelState.NONE, "")),
                                listed(TWO, ready("m", "1")),
                                failed(THREE, ErrorCode.UNAVAILABLE))
                        .entries(false))
                .containsExactly(entry("m", "1", ModelState.READY, "ready on 1 of 3: triton"));
    }

    @Test
    void sameModelTwiceInOneIndex_isTheMostAdvanced() {
        assertThat(merge(listed(ONE, entry("m", "1", ModelState.UNAVAILABLE, "old"), ready("m", "1")))
                        .entries(false))
                .containsExactly(ready("m", "1"));
    }

    @Test
    void order_doesNotDependOnTheServers() {
        IndexListing one = listed(ONE, ready("b", "10"), ready("a", "v1"), ready("b", "9"));
        IndexListing other = listed(MLSERVER, ready("a", ""), ready("a", "2"));

        assertThat(merge(one, other).entries(false)).isEqualTo(merge(other, one).entries(false));
        assertThat(merge(one, other).entries(false))
                .containsExactly(ready("a", ""), ready("a", "2"), ready("a", "v1"), ready("b", "9"), ready("b", "10"));
    }

    @Test
    void failure_onlyWhereNoServerResponded() {
        assertThat(merge().failure()).isEmpty();
        assertThat(merge(listed(ONE), failed(TWO, ErrorCode.INTERNAL)).failure())
                .isEmpty();
        assertThat(merge(failed(ONE, ErrorCode.NOT_FOUND), failed(TWO, ErrorCode.UNAVAILABLE))
                        .failure())
                .get()
                .extracting(OipException::code)
                .isEqualTo(ErrorCode.UNAVAILABLE);
    }

    @Test
    void detailed_hasTheStateOnEachServer() throws IOException {
        RepositoryIndex merged = merge(
                listed(ONE, ready("m", "1")),
                listed(TWO),
                failed(THREE, ErrorCode.UNAVAILABLE),
                listed(MLSERVER, entry("n", "", ModelState.UNAVAILABLE, "so")));

        assertThat(merged.detailed()).isEqualTo(new ObjectMapper().readTree("""
                {"models": [
                  {"name": "m", "version": "1", "state": "READY", "reason": "ready on 1 of 3: triton", "servers": [
                    {"upstream": "triton", "server": "1", "state": "READY", "reason": ""},
                    {"upstream": "triton", "server": "2", "state": "", "reason": "not loaded"},
                    {"upstream": "triton", "server": "3", "state": "UNKNOWN", "reason": "it failed"}]},
                  {"name": "n", "version": "", "state": "UNAVAILABLE", "reason": "so", "servers": [
                    {"upstream": "mlserver", "server": "1", "state": "UNAVAILABLE", "reason": "so"}]}],
                 "failures": [
                  {"upstream": "triton", "server": "3", "code": "UNAVAILABLE", "reason": "it failed"}],
                 "cut": false}"""));
    }

    @Test
    void reason_ofAServer_isCut() {
        RepositoryIndexResponse index = RepositoryIndexResponse.newBuilder()
                .addModels(RepositoryIndexResponse.ModelIndex.newBuilder()
                        .setName("m")
                        .setReason("x".repeat(10_000)))
                .build();

        assertThat(RepositoryIndex.of(List.of(IndexListing.of(ONE, index)))
                        .entries(false)
                        .getFirst()
                        .reason())
                .hasSize(512);
    }

    @Test
    void named_isTheSameUnderAnotherName() {
        assertThat(ready("m", "1").named("alias")).isEqualTo(ready("alias", "1"));
    }

    @Test
    void indexOfTooManyModels_isAFailureOfItsServer() {
        RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
        for (int i = 0; i <= 100_000; i++) {
            index.addModelsBuilder().setName("m" + i);
        }

        assertThat(IndexListing.of(ONE, index.build()))
                .isInstanceOfSatisfying(
                        IndexListing.FailedListing.class,
                        failed -> assertThat(failed.failure().message())
                                .isEqualTo(
                                        "upstream 'triton' sent an index of 100001 models, expected at most 100000"));
    }

    @Test
    void fleetOfTooManyModels_isCut() {
        List<IndexEntry> many = new ArrayList<>();
        for (int i = 0; i < 100_000; i++) {
            many.add(ready("m" + i, ""));
        }
        RepositoryIndex merged =
                merge(new IndexListing.ListedModels(ONE, many), listed(MLSERVER, ready("a", ""), ready("m7", "")));

        assertThat(merged.cut()).isTrue();
        assertThat(merged.models())
                .hasSize(100_000)
                .noneMatch(model -> model.merged().name().equals("a"));
    }

    private static RepositoryIndex merge(IndexListing... listings) {
        return RepositoryIndex.of(List.of(listings));
    }

    private static IndexListing listed(ServerId source, IndexEntry... entries) {
        return new IndexListing.ListedModels(source, List.of(entries));
    }

    private static IndexListing failed(ServerId source, ErrorCode code) {
        return new IndexListing.FailedListing(source, new OipException(code, "it failed"));
    }

    private static IndexEntry ready(String name, String version) {
        return entry(name, version, ModelState.READY, "");
    }

    private static IndexEntry entry(String name, String version, ModelState state, String reason) {
        return new IndexEntry(name, version, state, reason);
    }
}
