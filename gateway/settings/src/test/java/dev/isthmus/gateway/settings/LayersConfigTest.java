package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.networknt.schema.Error;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The section {@code layers}, and the jars that it names. */
class LayersConfigTest {
    private static final String REST = ", local: {embedded_models: true}, default_upstream: local}";

    @TempDir
    Path folder;

    private Path jars = Path.of("");

    /** Settings of a layer. */
    @Doc("Scales things.")
    public record ScaleSettings(
            @Doc("Factor.") @Required @Range(min = 1, max = 100)
            int factor,

            @Doc("Table of names.") @Nullable Path table,

            @Doc("What else.") @Default("keep") Other other,

            @Doc("Names.") List<String> names)
            implements LayerSettings {
        /** Other things. */
        public enum Other {
            KEEP,
            DROP
        }

        public ScaleSettings {
            if (factor == 13) {
                throw new IllegalArgumentException("'factor': another number is expected, got 13");
            }
            names = List.copyOf(names);
        }
    }

    /** Settings of a layer that needs none. */
    @Doc("Does one thing.")
    public record PlainSettings() implements LayerSettings {}

    /** Settings of a layer that keeps a value in another form. */
    @Doc("Knows a word.")
    public record WordSettings(@Doc("Word.") @Required String word) implements LayerSettings {
        public WordSettings {
            word = word.strip().toLowerCase(Locale.ROOT);
        }
    }

    /** A record that is nothing to the gateway. */
    public record Stranger() {}

    /** With a key of a type that the configuration has no values of. */
    public record OddSettings(Function<String, String> odd) implements LayerSettings {}

    @BeforeEach
    void makeFolder() throws IOException {
        jars = Files.createDirectory(folder.resolve("layers"));
    }

    /** A jar with this manifest; its classes are on the class path. */
    static void jar(Path jar, @Nullable String version, @Nullable String layers) throws IOException {
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        if (version != null) {
            attributes.putValue("Isthmus-Layer-Interface", version);
        }
        if (layers != null) {
            attributes.putValue("Isthmus-Layers", layers);
        }
        new JarOutputStream(Files.newOutputStream(jar), manifest).close();
    }

    private void jar(String name, @Nullable String version, @Nullable String layers) throws IOException {
        jar(jars.resolve(name), version, layers);
    }

    private void scaleJar() throws IOException {
        jar("scale.jar", "1", "scale=" + ScaleSettings.class.getName() + " plain=" + PlainSettings.class.getName());
    }

    private GatewayConfig parse(String layers) throws ConfigException {
        return ConfigLoader.parse("f.yaml", "{layers: " + layers + REST, folder);
    }

    private List<String> problems(String layers) {
        return Objects.requireNonNull(catchThrowableOfType(ConfigException.class, () -> parse(layers)))
                .problems();
    }

    @Test
    void layer_hasItsOwnSettings_withDefaults() throws Exception {
        scaleJar();
        GatewayConfig config = parse("{folder: layers, add: [{name: scale, after: routing, settings: "
                + "{factor: 3, table: t.csv}}, {name: plain, before: admission}]}");
        assertThat(config.layers().add())
                .containsExactly(
                        new LayersConfig.AddedLayer(
                                "scale",
                                null,
                                BuiltInLayer.ROUTING,
                                new ScaleSettings(3, folder.resolve("t.csv"), ScaleSettings.Other.KEEP, List.of())),
                        new LayersConfig.AddedLayer("plain", BuiltInLayer.ADMISSION, null, new PlainSettings()));
        assertThat(config.layers().add().getFirst().doc()).isEqualTo("Scales things.");
        assertThat(String.valueOf(config.document().get("layers")))
                .contains("name=scale, after=routing", "factor=3", "other=keep", "name=plain, before=admission");
    }

    @Test
    void value_thatItsLayerHasChanged_isShownAsItsReference() throws Exception {
        jar("word.jar", "1", "word=" + WordSettings.class.getName());
        String yaml = "{layers: {folder: layers, add: [{name: word, after: routing, settings: {word: '${WORD}'}}]}";
        GatewayConfig config = ConfigLoader.parse(
                List.of(new ConfigText("f.yaml", yaml + REST, folder)), name -> " Hunter22", new HashSet<>());
        assertThat(config.layers().add().getFirst().settings()).isEqualTo(new WordSettings("hunter22"));
        assertThat(config.document().toString()).contains("word=${WORD}").doesNotContain("hunter22");
    }

    @Test
    void layers_areWhereTheyWerePlaced_alsoBesideOnesThatAreNotThere() throws Exception {
        scaleJar();
        assertThat(layers("{folder: layers, add: [{name: scale, after: rate_limits, settings: {factor: 1}}, "
                        + "{name: plain, after: rate_limits}]}"))
                .containsSequence("admission", "routing", "scale", "plain", "target_metrics");
        assertThat(layers("{folder: layers, add: [{name: plain, before: request_ids}]}"))
                .startsWith("plain", "request_ids");
    }

    private List<String> layers(String section) throws ConfigException {
        GatewayConfig config = parse(section);
        return config.layers().placed(config, BuiltInLayer::toString, LayersConfig.AddedLayer::name);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{name: scale, after: routing, settings: {factor: 0}} | 1:80: | factor: a whole number from 1 to 100 is expected",
                "{name: scale, after: routing, settings: {factor: 13}} | 1:70: | another number is expected, got 13",
                "{name: scale, after: routing, settings: {factr: 5, factor: 5}} | 1:71: | unknown key 'factr'",
                "{name: scale, after: routing, settings: {}} | 1:70: | 'factor' is missing",
                "{name: scale, after: routing} | 1:29: | 'factor' is missing",
                "{name: scale, after: routing, settings: 5} | 1:70: | an object is expected, got '5'",
                "{name: plain, after: rooting} | 1:51: | one of request_ids",
                "{name: plain, after: plain} | 1:51: | one of request_ids",
                "{name: plain} | 1:30: | either 'before' or 'after' is expected, got neither",
                "{name: plain, after: routing, before: ramps} | 1:30: | either 'before' or 'after' is expected, got both",
                "{name: plan, after: routing} | 1:37: | no jar of 'folder' brings a layer 'plan'; there are [plain, scale]",
                "{after: routing} | 1:30: | 'name' is missing",
                "{name: plain, after: routing}, {name: plain, before: ramps} | 1:68: | 'plain' is there twice: one is expected",
            })
    void wrongSection_isRefused_whereItStands(String layer, String place, String problem) throws Exception {
        scaleJar();
        assertThat(problems("{folder: layers, add: [" + layer + "]}"))
                .anySatisfy(line -> assertThat(line).contains(problem));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "none",
            value = {
                "none | none | a manifest with 'Isthmus-Layer-Interface: 1', the version of this gateway, is expected, got none",
                "2 | a=dev.isthmus.A | the version of this gateway, is expected, got '2'",
                "1 | none | a manifest with 'Isthmus-Layers: NAME=CLASS', names in lower case, is expected, got ''",
                "1 | Layer=dev.isthmus.A | names in lower case, is expected, got 'Layer=dev.isthmus.A'",
                "1 | routing=dev.isthmus.A | a name that no layer of the gateway has is expected, got 'routing'",
                "1 | a=dev.isthmus.A | dev.isthmus.A cannot be loaded: java.lang.ClassNotFoundException",
                "1 | a=java.lang.String | a record that implements LayerFactory is expected, got java.lang.String",
                "1 | a=dev.isthmus.gateway.settings.LayersConfigTest$Stranger | a record that implements LayerFactory is expected",
                "1 | a=dev.isthmus.gateway.settings.LayersConfigTest$OddSettings | no configuration values of",
            })
    void wrongJar_isRefused_whereItsFolderIsNamed(@Nullable String version, @Nullable String layers, String problem)
            throws Exception {
        jar("x.jar", version, layers);
        assertThat(problems("{folder: layers}"))
                .singleElement()
                .asString()
                .startsWith("f.yaml:1:19: layers: folder: x.jar: ")
                .contains(problem);
    }

    @Test
    void folder_withWhatIsNoJar_isRefused() throws Exception {
        Files.writeString(jars.resolve("x.jar"), "text");
        assertThat(problems("{folder: layers}"))
                .singleElement()
                .asString()
                .contains("x.jar: a readable jar is expected");
        assertThat(problems("{folder: nowhere}"))
                .singleElement()
                .asString()
                .startsWith("f.yaml:1:19: layers: folder: a readable folder is expected, got ");
    }

    @Test
    void layer_ofTwoJars_isRefused() throws Exception {
        scaleJar();
        jar("other.jar", "1", "scale=" + ScaleSettings.class.getName());
        assertThat(problems("{folder: layers}"))
                .containsExactly(
                        "f.yaml:1:19: layers: folder: layer 'scale' is in other.jar and in scale.jar: one is expected");
    }

    @Test
    void layer_withoutFolder_isRefused() {
        assertThat(problems("{add: [{name: scale, after: routing}]}"))
                .containsExactly("f.yaml:1:24: layers: no jar of 'folder' brings a layer 'scale'; there is none");
    }

    /** So that a reload of the same file changes nothing, and one of a new file takes its classes. */
    @Test
    void jar_isLoadedAgain_whenItIsAnotherFile() throws Exception {
        scaleJar();
        String layers = "{folder: layers, add: [{name: plain, before: admission}]}";
        GatewayConfig before = parse(layers);
        assertThat(parse(layers)).isEqualTo(before);
        jar("scale.jar", "2", "plain=" + PlainSettings.class.getName());
        Files.setLastModifiedTime(jars.resolve("scale.jar"), FileTime.fromMillis(1));
        assertThat(problems(layers)).anySatisfy(line -> assertThat(line).contains("got '2'"));
    }

    private static List<Error> errors(String schema, String yaml) throws IOException {
        return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(schema)
                .validate(new YAMLMapper().readTree(yaml));
    }

    @Test
    void schema_describesTheSettingsOfJars() throws Exception {
        scaleJar();
        String schema = ConfigSchema.text(jars);
        String scale =
                "{layers: {folder: layers, add: [{name: scale, after: routing, settings: {factor: FACTOR}}]}" + REST;
        assertThat(errors(schema, scale.replace("FACTOR", "3"))).isEmpty();
        assertThat(errors(schema, scale.replace("FACTOR", "0"))).isNotEmpty();
        assertThat(errors(schema, scale.replace("factor: FACTOR", ""))).isNotEmpty();
        assertThat(errors(schema, scale.replace("factor: FACTOR", "factor: 3, x: 1")))
                .isNotEmpty();
        assertThat(errors(schema, scale.replace(", settings: {factor: FACTOR}", "")))
                .isNotEmpty();
        assertThat(errors(schema, scale.replace("name: scale", "name: other"))).isNotEmpty();
        assertThat(errors(schema, "{layers: {add: [{name: plain, after: routing}]}" + REST))
                .isEmpty();
        assertThat(errors(ConfigSchema.text(), scale.replace("FACTOR", "0"))).isEmpty();
    }

    @Test
    void schema_ofAWrongJar_isRefused() throws Exception {
        jar("x.jar", "7", "a=dev.isthmus.A");
        assertThat(Objects.requireNonNull(catchThrowableOfType(ConfigException.class, () -> ConfigSchema.text(jars)))
                        .problems())
                .singleElement()
                .asString()
                .startsWith("x.jar: ");
    }
}
