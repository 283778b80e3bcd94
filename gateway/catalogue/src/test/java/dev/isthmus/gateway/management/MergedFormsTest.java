package dev.isthmus.gateway.management;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.catalogue.Golden;
import dev.isthmus.gateway.catalogue.IndexListing;
import dev.isthmus.gateway.catalogue.MergedStatistics;
import dev.isthmus.gateway.catalogue.RepositoryIndex;
import dev.isthmus.gateway.catalogue.ServerId;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.ManagementJson;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexResponse;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** JSON responses are merged through protobuf, and returned as JSON. */
class MergedFormsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    void indexOfTriton_goesThroughAsRecorded() throws IOException {
        byte[] recorded = Golden.json("triton_repository_index");

        byte[] merged = ManagementJson.toJson(Extension.REPOSITORY_INDEX, index(recorded));

        assertThat(JSON.readTree(merged)).isEqualTo(JSON.readTree(recorded));
    }

    @Test
    void indexOfMlserver_isSortedWithoutEmptyMembers() throws IOException {
        byte[] merged =
                ManagementJson.toJson(Extension.REPOSITORY_INDEX, index(Golden.json("mlserver_repository_index")));

        assertThat(JSON.readTree(merged)).isEqualTo(JSON.readTree("""
                [{"name":"fail","state":"READY"},{"name":"identity","state":"READY"},
                 {"name":"iris","version":"v1","state":"READY"},{"name":"slow","state":"READY"},
                 {"name":"special","state":"READY"},{"name":"stream","state":"READY"},
                 {"name":"versioned","version":"v1","state":"READY"},
                 {"name":"versioned","version":"v2","state":"READY"}]"""));
    }

    @Test
    void statisticsOfTriton_goThroughAsRecorded() throws IOException {
        byte[] recorded = Golden.json("triton_model_stats");
        ModelStatisticsResponse read =
                ModelStatisticsResponse.parseFrom(ManagementJson.toProtobuf(Extension.MODEL_STATISTICS, recorded));

        byte[] merged = ManagementJson.toJson(
                Extension.MODEL_STATISTICS, MergedStatistics.of(List.of(read)).toByteArray());

        assertThat(JSON.readTree(merged)).isEqualTo(JSON.readTree(recorded));
    }

    private static byte[] index(byte[] json) throws IOException {
        RepositoryIndexResponse read =
                RepositoryIndexResponse.parseFrom(ManagementJson.toProtobuf(Extension.REPOSITORY_INDEX, json));
        return RepositoryIndex.of(List.of(IndexListing.of(new ServerId("server", "1"), read)))
                .response(false)
                .toByteArray();
    }
}
