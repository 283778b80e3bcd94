package dev.isthmus.local.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ModelRepositoryTest {
    @TempDir
    Path folder;

    private Path root;

    @BeforeEach
    void makeRoot() throws IOException {
        root = Files.createDirectory(folder.resolve("models"));
    }

    private Path write(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, content);
    }

    private FoundModel find(String name) {
        return ModelRepository.of(root, false).find(name);
    }

    private String problem(String name) {
        OipException problem = catchThrowableOfType(OipException.class, () -> find(name));
        assertThat(problem.code()).isEqualTo(ErrorCode.FAILED_PRECONDITION);
        return problem.message();
    }

    private static ModelSource source(FoundModel model, long version) {
        return Objects.requireNonNull(model.sources().get(version));
    }

    private static String onnx(FoundModel model, long version) {
        return new String(source(model, version).onnx().read(), StandardCharsets.UTF_8);
    }

    @Test
    void tritonsLayout_withoutConfiguration_hasTheLatestVersion() throws IOException {
        write("iris/1/model.onnx", "one");
        write("iris/12/model.onnx", "twelve");
        write("iris/9/model.onnx", "nine");
        FoundModel model = find("iris");
        assertThat(model.sources()).containsOnlyKeys(12L);
        assertThat(onnx(model, 12)).isEqualTo("twelve");
        assertThat(source(model, 12).settings()).isEqualTo(ModelSettings.DEFAULT);
    }

    @Test
    void fileForWhichTheHeapHasNoRoom_isNotRead() throws IOException {
        write("iris/1/model.onnx", "");
        try (RandomAccessFile file =
                new RandomAccessFile(root.resolve("iris/1/model.onnx").toFile(), "rw")) {
            file.setLength(Math.min(Integer.MAX_VALUE - 8, Runtime.getRuntime().maxMemory()));
        }
        FoundModel model = find("iris");
        assertThatThrownBy(() -> onnx(model, 1))
                .hasMessageStartingWith("'iris/1/model.onnx' has ")
                .hasMessageContaining(" bytes, for which there is no room on the heap: at most ")
                .extracting("code")
                .isEqualTo(ErrorCode.FAILED_PRECONDITION);
    }

    @Test
    void foldersThatAreNoVersions_arePassedOver() throws IOException {
        write("iris/1/model.onnx", "one");
        write("iris/02/model.onnx", "zero first");
        write("iris/latest/model.onnx", "a name");
        assertThat(find("iris").sources()).containsOnlyKeys(1L);
    }

    @Test
    void foldersThatAreNoVersions_areNamed_whereThereIsNoVersion() throws IOException {
        write("iris/01/model.onnx", "zero first");
        write("iris/v1/model.onnx", "a letter first");
        write("iris/docs/readme.txt", "no model");
        write("assets/2d/picture.png", "no model");
        assertThat(ModelRepository.of(root, false).names()).containsExactly("iris");
        assertThat(problem("iris"))
                .isEqualTo(
                        "it has no version: 'iris/1/model.onnx' is expected; folders [01, v1] are ignored, for versions"
                                + " are numbers from 1 on without leading zeros");
    }

    @Test
    void modelsAddedOrRenamed_afterTheRepositoryWasListed_areFound() throws IOException {
        write("a/1/model.onnx", "a");
        ModelRepository repository = ModelRepository.of(root, false);
        assertThat(repository.names()).containsExactly("a");
        write("b/1/model.onnx", "b");
        write("c.onnx", "c");
        write("folder/model-settings.json", "{\"name\": \"d\"}");
        write("folder/model.onnx", "d");
        for (String name : List.of("a", "b", "c", "d")) {
            assertThat(onnx(repository.find(name), 1)).isEqualTo(name);
        }
        write("folder/model-settings.json", "{\"name\": \"e\"}");
        assertThat(onnx(repository.find("e"), 1)).isEqualTo("d");
        assertThatThrownBy(() -> repository.find("d")).extracting("code").isEqualTo(ErrorCode.NOT_FOUND);
        write("other/model-settings.json", "{\"name\": \"a\"}");
        assertThat(repository.names()).containsExactly("a", "b", "c", "e");
        assertThatThrownBy(() -> repository.find("a")).hasMessage("one path is expected, got [a, other]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ".", "..", "../a", "a/1", "/a", ".hidden", "a.onnx", "a\0", "\\a", "a\ud800"})
    void nameThatIsNoEntry_isNotFound(String name) throws IOException {
        write("a/1/model.onnx", "a");
        write(".hidden/1/model.onnx", "hidden");
        ModelRepository repository = ModelRepository.of(root, false);
        repository.names();
        assertThatThrownBy(() -> repository.find(name)).extracting("code").isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void configuration_decides() throws IOException {
        write("iris/config.pbtxt", "name: 'iris' version_policy { all {} } default_model_filename: 'iris.onnx'");
        write("iris/1/iris.onnx", "one");
        write("iris/2/iris.onnx", "two");
        FoundModel model = find("iris");
        assertThat(model.sources()).containsOnlyKeys(1L, 2L);
        assertThat(onnx(model, 2)).isEqualTo("two");
        assertThat(source(model, 2).settings().versions()).isEqualTo(new VersionPolicy.All());
    }

    @Test
    void specificVersion_thatIsMissing_isRefusedAlone() throws IOException {
        write("iris/config.pbtxt", "version_policy { specific { versions: [1, 3] } }");
        write("iris/1/model.onnx", "one");
        FoundModel model = find("iris");
        assertThat(model.sources()).containsOnlyKeys(1L);
        assertThat(model.refused())
                .containsOnlyKeys(3L)
                .containsValue("the version does not exist: 'iris/3/model.onnx' is expected");
    }

    @Test
    void versionWithoutItsFile_isRefused() throws IOException {
        write("iris/1/other.onnx", "one");
        assertThat(find("iris").refused()).containsOnlyKeys(1L);
    }

    @Test
    void nameOfAnotherModel_isRefused() throws IOException {
        write("iris/config.pbtxt", "name: 'digits'");
        write("iris/1/model.onnx", "one");
        assertThat(problem("iris")).isEqualTo("config.pbtxt: name 'digits': the folder's, 'iris', is expected");
    }

    @Test
    void flatFile_isVersionOne() throws IOException {
        write("iris.onnx", "flat");
        FoundModel model = find("iris");
        assertThat(onnx(model, 1)).isEqualTo("flat");
        assertThat(ModelRepository.of(root, false).names()).containsExactly("iris");
    }

    @Test
    void mlserversSettings_nameTheModelAndItsFile() throws IOException {
        write("folder/model-settings.json", """
                {"name": "iris", "parameters": {"uri": "./files/iris.onnx", "version": "3"}}""");
        write("folder/files/iris.onnx", "three");
        assertThat(ModelRepository.of(root, false).names()).containsExactly("iris");
        assertThat(onnx(find("iris"), 3)).isEqualTo("three");
    }

    @Test
    void mlserversSettings_withoutUri_takeTheFileBeside() throws IOException {
        write("iris/model-settings.json", "{\"name\": \"iris\"}");
        write("iris/model.onnx", "beside");
        assertThat(onnx(find("iris"), 1)).isEqualTo("beside");
    }

    @Test
    void mlserversSettings_withoutUri_takeVersionFolders() throws IOException {
        write("iris/model-settings.json", "{\"max_batch_size\": 4, \"max_batch_time\": 0.1}");
        write("iris/1/model.onnx", "one");
        write("iris/2/model.onnx", "two");
        FoundModel model = find("iris");
        assertThat(model.sources()).containsOnlyKeys(2L);
        assertThat(source(model, 2).settings().maxBatchSize()).isEqualTo(4);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/etc/model.onnx",
                "../other/model.onnx",
                "files/../model.onnx",
                "s3://bucket/m.onnx",
                "file:/m",
                ".."
            })
    void uriOutOfTheFolder_isRefused(String uri) throws IOException {
        write("iris/model-settings.json", "{\"parameters\": {\"uri\": \"" + uri + "\"}}");
        write("iris/model.onnx", "one");
        assertThat(problem("iris"))
                .isEqualTo("model-settings.json: parameters.uri '" + uri
                        + "': a path in the model's folder is expected, without '..'");
    }

    @Test
    void bothConfigurations_areRefused() throws IOException {
        write("iris/model-settings.json", "{}");
        write("iris/config.pbtxt", "");
        assertThat(problem("iris")).isEqualTo("either config.pbtxt or model-settings.json is expected, not both");
    }

    @Test
    void twoPlaces_areRefused() throws IOException {
        write("iris.onnx", "flat");
        write("iris/1/model.onnx", "one");
        assertThat(problem("iris")).isEqualTo("one path is expected, got [iris, iris.onnx]");
    }

    @Test
    void configurationWithoutVersions_isRefused() throws IOException {
        write("iris/config.pbtxt", "");
        assertThat(problem("iris")).isEqualTo("it has no version: 'iris/1/model.onnx' is expected");
    }

    @Test
    void otherFoldersAndHiddenOnes_areNoModels() throws IOException {
        write("lost+found/x", "");
        write(".git/1/model.onnx", "");
        write("README.md", "");
        assertThat(ModelRepository.of(root, false).names()).isEmpty();
        assertThatThrownBy(() -> find("lost+found"))
                .hasMessageContaining("it is not in the model repository")
                .extracting("code")
                .isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void pipe_isNotRead() throws Exception {
        write("iris/model.onnx", "one");
        Path pipe = root.resolve("iris/model-settings.json");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        assertThat(ModelRepository.of(root, false).names()).containsExactly("iris");
        assertThat(problem("iris")).isEqualTo("'iris/model-settings.json': a file is expected");
    }

    @Test
    void rootThatIsGone_isNamed() throws IOException {
        ModelRepository repository = ModelRepository.of(root, false);
        Files.delete(root);
        assertThatThrownBy(repository::names).hasMessage("the model repository cannot be read");
    }

    @Test
    void linkOfAModelOutOfTheRepository_isRefusedByName() throws IOException {
        Path outside = Files.createDirectories(folder.resolve("outside/1"));
        Files.writeString(outside.resolve("model.onnx"), "outside");
        Files.createSymbolicLink(root.resolve("iris"), folder.resolve("outside"));
        assertThat(ModelRepository.of(root, false).names()).containsExactly("iris");
        assertThat(problem("iris")).isEqualTo("'iris' is a link that leads out of the repository");
    }

    @Test
    void linksOfVersionAndFileOutOfTheRepository_areRefusedByName() throws IOException {
        Path outside = Files.createDirectories(folder.resolve("outside"));
        Files.writeString(outside.resolve("model.onnx"), "outside");
        write("iris/config.pbtxt", "version_policy { all {} }");
        write("iris/1/model.onnx", "one");
        Files.createSymbolicLink(root.resolve("iris/2"), outside);
        Files.createDirectory(root.resolve("iris/3"));
        Files.createSymbolicLink(root.resolve("iris/3/model.onnx"), outside.resolve("model.onnx"));
        FoundModel model = find("iris");
        assertThat(model.sources()).containsOnlyKeys(1L);
        assertThat(model.refused())
                .containsEntry(2L, "'iris/2/model.onnx' is a link that leads out of the repository")
                .containsEntry(3L, "'iris/3/model.onnx' is a link that leads out of the repository");
    }

    @Test
    void linkOfAConfigurationOutOfTheRepository_isRefused() throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "password");
        write("iris/1/model.onnx", "one");
        Files.createSymbolicLink(root.resolve("iris/config.pbtxt"), secret);
        assertThat(problem("iris")).isEqualTo("'iris/config.pbtxt' is a link that leads out of the repository");
    }

    @Test
    void linkThatChangesAfterTheSearch_isRefusedWhenItIsRead() throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "password");
        Path file = write("iris/1/model.onnx", "one");
        FoundModel model = find("iris");
        Files.delete(file);
        Files.createSymbolicLink(file, secret);
        assertThatThrownBy(() -> onnx(model, 1))
                .hasMessage("'iris/1/model.onnx' is a link that leads out of the repository");
    }

    @Test
    void linksInsideTheRepository_areFollowed() throws IOException {
        write("iris/1/model.onnx", "one");
        Files.createSymbolicLink(root.resolve("alias"), root.resolve("iris"));
        assertThat(onnx(find("alias"), 1)).isEqualTo("one");
    }

    @Test
    void rootThatIsALink_isFollowed() throws IOException {
        write("iris/1/model.onnx", "one");
        Path link = Files.createSymbolicLink(folder.resolve("link"), root);
        assertThat(ModelRepository.of(link, false).find("iris").sources()).containsOnlyKeys(1L);
    }

    @Test
    void jars_areThoseOfTheModelAndTheVersion() throws IOException {
        write("iris/1/model.onnx", "one");
        Path first = write("iris/a.jar", "");
        Path second = write("iris/1/b.jar", "");
        assertThat(source(find("iris"), 1).jars()).containsExactly(first, second);
    }

    @Test
    void largeConfiguration_isRefused() throws IOException {
        write("iris/1/model.onnx", "one");
        write("iris/config.pbtxt", "#".repeat((1 << 20) + 1));
        assertThat(problem("iris")).isEqualTo("'iris/config.pbtxt': at most 1048576 bytes are expected, got 1048577");
    }

    @Test
    void embeddedModels_giveWayToThoseOfTheFolder() throws IOException {
        write("digits/7/model.onnx", "mine");
        ModelRepository repository = ModelRepository.of(root, true);
        assertThat(repository.names()).containsExactly("digits", "simple");
        assertThat(repository.find("digits").sources()).containsOnlyKeys(7L);
        assertThat(repository.find("simple").sources()).containsOnlyKeys(1L);
    }

    @Test
    void rootThatIsMissing_isAFailure() {
        assertThatThrownBy(() -> ModelRepository.of(folder.resolve("none"), false))
                .extracting("code")
                .isEqualTo(ErrorCode.FAILED_PRECONDITION);
    }
}
