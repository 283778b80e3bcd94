package dev.isthmus.local;

import static dev.isthmus.local.ModelFolders.load;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.ModelProto;
import dev.isthmus.proto.onnx.NodeProto;
import dev.isthmus.proto.onnx.OperatorSetIdProto;
import dev.isthmus.proto.onnx.StringStringEntryProto;
import dev.isthmus.proto.onnx.TensorProto;
import dev.isthmus.proto.onnx.TensorShapeProto;
import dev.isthmus.proto.onnx.TypeProto;
import dev.isthmus.proto.onnx.ValueInfoProto;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Models whose weights are in files of their own. */
class ExternalDataTest {
    private static final int FLOAT = 1;

    @TempDir
    Path folder;

    private ModelFolders models;

    @BeforeEach
    void makeFiles() throws IOException {
        models = new ModelFolders(folder.resolve("models"));
        Files.createDirectories(models.root().resolve("m/1/weights"));
        Files.write(models.root().resolve("m/1/model.onnx.data"), new byte[64]);
        Files.write(models.root().resolve("m/1/weights/w"), new byte[64]);
        Files.write(models.root().resolve("other"), new byte[64]);
        Files.write(folder.resolve("secret"), new byte[64]);
        Files.createSymbolicLink(models.root().resolve("m/1/inside"), Path.of("model.onnx.data"));
        Files.createSymbolicLink(models.root().resolve("m/1/outside"), Path.of("../../../secret"));
        Files.createSymbolicLink(models.root().resolve("m/1/beside"), Path.of("../../other"));
    }

    /** INPUT0 FP32 [-1,1] plus a weight from a file. */
    private void put(String location, String offset, String length) throws IOException {
        TensorProto weight = TensorProto.newBuilder()
                .setName("w")
                .setDataType(FLOAT)
                .addDims(1)
                .setDataLocation(1)
                .addExternalData(entry("location", location))
                .addExternalData(entry("offset", offset))
                .addExternalData(entry("length", length))
                .build();
        GraphProto graph = GraphProto.newBuilder()
                .setName("g")
                .addInitializer(weight)
                .addNode(NodeProto.newBuilder()
                        .setOpType("Add")
                        .addInput("INPUT0")
                        .addInput("w")
                        .addOutput("OUTPUT0"))
                .addInput(value("INPUT0"))
                .addOutput(value("OUTPUT0"))
                .build();
        ModelProto model = ModelProto.newBuilder()
                .setIrVersion(8)
                .setGraph(graph)
                .addOpsetImport(OperatorSetIdProto.newBuilder().setVersion(17))
                .build();
        Files.write(models.root().resolve("m/1/model.onnx"), model.toByteArray());
    }

    private static StringStringEntryProto entry(String key, String value) {
        return StringStringEntryProto.newBuilder().setKey(key).setValue(value).build();
    }

    private static ValueInfoProto value(String name) {
        TensorShapeProto shape = TensorShapeProto.newBuilder()
                .addDim(TensorShapeProto.Dimension.getDefaultInstance())
                .addDim(TensorShapeProto.Dimension.newBuilder().setDimValue(1))
                .build();
        return ValueInfoProto.newBuilder()
                .setName(name)
                .setType(TypeProto.newBuilder()
                        .setTensorType(
                                TypeProto.Tensor.newBuilder().setElemType(FLOAT).setShape(shape)))
                .build();
    }

    @ParameterizedTest
    @CsvSource({"model.onnx.data", "weights/w", "inside"})
    void file_inTheVersionsFolder_isRead(String location) throws IOException {
        put(location, "4", "4");
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(backend.ready(ModelRef.of("m"))).isTrue();
            assertThat(ModelFolders.infer(backend, "m", "", DataType.FP32)).isEqualTo("1");
        }
    }

    @ParameterizedTest
    @CsvSource({"outside", "beside", "../../../secret", "../../other", "none", "weights", "/etc/passwd", "pom.xml"})
    void file_outside_isRefusedWithoutItsPath(String location) throws IOException {
        put(location, "0", "4");
        assertRefused(location.startsWith("/") ? "Absolute path" : "");
    }

    @ParameterizedTest
    @CsvSource({"64, 4", "62, 4", "-4, 4", "0, 8", "9223372036854775804, 4"})
    void data_beyondTheFile_areRefused(String offset, String length) throws IOException {
        put("model.onnx.data", offset, length);
        assertRefused("");
    }

    @Test
    void addressInMemory_isRefused() throws IOException {
        put("*/_ORT_MEM_ADDR_/*", "4096", "4");
        assertRefused("");
    }

    private void assertRefused(String text) throws IOException {
        try (LocalBackend backend = models.explicit()) {
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining(text);
            assertThat(backend.ready(ModelRef.of("m"))).isFalse();
            assertThat(ModelFolders.index(backend).getFirst().reason())
                    .isNotEmpty()
                    .doesNotContain(folder.toRealPath().toString(), Path.of("").toAbsolutePath() + "/");
        }
    }
}
