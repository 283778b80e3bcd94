package dev.isthmus.gateway;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The dependency rules of docs/internals/architecture.md. */
class ArchitectureTest {
    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            // Test fixtures shared between modules.
            .withImportOption(location -> !location.contains("-tests.jar") && !location.contains("/test-classes/"))
            .importPackages("dev.isthmus");

    private static final Path ROOT = Path.of(System.getProperty("isthmus.root", ".."));
    private static final int MAX_LINES = 600;
    /** A dependency on another module's classes, not on those of its tests. */
    private static final Pattern NAMED_MODULE = Pattern.compile(
            "<artifactId>isthmus-([a-z0-9-]+)</artifactId>\\s*<version>\\$\\{project.version}</version>\\s*</dependency>");

    /** The package of an imported type of the project. */
    private static final Pattern IMPORT =
            Pattern.compile("(?m)^import (?:static )?(dev\\.isthmus(?:\\.[a-z0-9]+)*)\\.[A-Z]");

    @Test
    void modules_dependDownwards() {
        noClasses()
                .that()
                .resideInAnyPackage("dev.isthmus.oip..", "dev.isthmus.transcoder..", "dev.isthmus.local..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("dev.isthmus.gateway..")
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAnyPackage("dev.isthmus.oip..", "dev.isthmus.transcoder..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("dev.isthmus.local..")
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage("dev.isthmus.oip..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("dev.isthmus.transcoder..")
                .check(CLASSES);
    }

    /** A module's pom.xml names the modules that its sources import, and no others. */
    @Test
    void modules_nameWhatTheyUse() throws IOException {
        Map<String, String> modules = new HashMap<>();
        Map<String, Set<String>> imports = new TreeMap<>();
        for (Path module : modules()) {
            Path sources = module.resolve("src/main/java");
            try (Stream<Path> files = Files.walk(sources)) {
                for (Path file :
                        files.filter(each -> each.toString().endsWith(".java")).toList()) {
                    String name =
                            sources.relativize(file.getParent()).toString().replace('/', '.');
                    assertThat(modules.put(name, module.getFileName().toString()))
                            .isIn(null, module.getFileName().toString());
                    matches(IMPORT, Files.readString(file))
                            .forEach(imports.computeIfAbsent(module.toString(), none -> new TreeSet<>())::add);
                }
            }
        }
        for (Path module : modules()) {
            Set<String> used = imports.getOrDefault(module.toString(), Set.of()).stream()
                    .map(name -> modules.getOrDefault(name, "proto"))
                    .collect(Collectors.toCollection(TreeSet::new));
            used.remove(module.getFileName().toString());
            assertThat(matches(NAMED_MODULE, Files.readString(module.resolve("pom.xml"))))
                    .as(module.toString())
                    .containsExactlyInAnyOrderElementsOf(used);
        }
    }

    private static List<String> matches(Pattern pattern, String text) {
        return pattern.matcher(text).results().map(each -> each.group(1)).toList();
    }

    @Test
    void numbersAndJson_knowNothingOfTheProtocolsMessages() {
        noClasses()
                .that()
                .resideInAPackage("dev.isthmus.transcoder.number")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "dev.isthmus.transcoder.json",
                        "dev.isthmus.transcoder.rest",
                        "dev.isthmus.transcoder.protobuf",
                        "dev.isthmus.transcoder.message")
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage("dev.isthmus.transcoder.json")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("dev.isthmus.transcoder.rest", "dev.isthmus.transcoder.protobuf")
                .orShould()
                .dependOnClassesThat()
                .belongToAnyOf(Tensor.class, Shape.class, Parameter.class, InferRequest.class, InferResponse.class)
                .check(CLASSES);
    }

    @Test
    void ingressAndUpstream_doNotKnowEachOther() {
        noClasses()
                .that()
                .resideInAPackage("dev.isthmus.gateway.ingress..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "dev.isthmus.gateway.upstream..",
                        "dev.isthmus.gateway.dispatch..",
                        "dev.isthmus.gateway.routing..")
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAnyPackage(
                        "dev.isthmus.gateway.upstream..",
                        "dev.isthmus.gateway.dispatch..",
                        "dev.isthmus.gateway.routing..",
                        "dev.isthmus.gateway.call..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("dev.isthmus.gateway.ingress..")
                .check(CLASSES);
    }

    /** A call runs on an event loop: the type is declared everywhere, so that no executor is cast. */
    @Test
    void nettysChannels_stayAtTheEdges() {
        noClasses()
                .that()
                .resideInAnyPackage(
                        "dev.isthmus.oip..",
                        "dev.isthmus.transcoder..",
                        "dev.isthmus.local..",
                        "dev.isthmus.gateway.cache..",
                        "dev.isthmus.gateway.call..",
                        "dev.isthmus.gateway.dispatch..",
                        "dev.isthmus.gateway.routing..",
                        "dev.isthmus.gateway.fleet",
                        "dev.isthmus.gateway.catalogue..",
                        "dev.isthmus.gateway.metrics..",
                        "dev.isthmus.gateway.logging..",
                        "dev.isthmus.gateway.payloadlog..",
                        "dev.isthmus.gateway.reload..",
                        "dev.isthmus.gateway.shadow..",
                        "dev.isthmus.gateway.ramp..",
                        "dev.isthmus.gateway.tracing..",
                        "dev.isthmus.gateway.settings..")
                .should()
                .dependOnClassesThat(
                        resideInAnyPackage("io.netty.channel..", "io.netty.handler..", "io.netty.bootstrap..")
                                .and(not(type(EventLoop.class))))
                .check(CLASSES);
    }

    @Test
    void limits_knowNothingButTheirConfiguration() {
        noClasses()
                .that()
                .resideInAPackage("dev.isthmus.gateway.limit..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "dev.isthmus.gateway.dispatch..",
                        "dev.isthmus.gateway.fleet..",
                        "dev.isthmus.gateway.ingress..",
                        "dev.isthmus.gateway.routing..",
                        "dev.isthmus.gateway.upstream..")
                .check(CLASSES);
    }

    @Test
    void routing_knowsUpstreamsByTheirInterface() {
        noClasses()
                .that()
                .resideInAPackage("dev.isthmus.gateway.routing..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("dev.isthmus.gateway.fleet..", "dev.isthmus.gateway.upstream.(*)..")
                .check(CLASSES);
    }

    /** So that no kind of inference can leave out a route's policies. */
    @Test
    void targets_areChosenByRoutedCallOnly() {
        noClasses()
                .that()
                .areNotAssignableTo(Route.class)
                .and()
                .doNotHaveSimpleName("RoutedCall")
                .should()
                .callMethodWhere(target(name("pick")).and(target(owner(assignableTo(Route.class)))))
                .check(CLASSES);
    }

    /** Readiness has one health checker, in {@code fleet}; the catalogue only forwards a client's own request. */
    @Test
    void controlPlane_asksNoServerWhetherItIsReady() {
        for (String method : List.of("serverReady", "modelReady")) {
            noClasses()
                    .that()
                    .resideInAnyPackage("dev.isthmus.gateway.catalogue..", "dev.isthmus.gateway.management..")
                    .and()
                    .doNotHaveSimpleName("Catalogue")
                    .should()
                    .callMethodWhere(target(name(method)).and(target(owner(assignableTo(Upstream.class)))))
                    .check(CLASSES);
        }
    }

    @Test
    void librariesOfOnePackage_stayThere() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.grpc..")
                .because("it is the independent peer of tests and benches")
                .check(CLASSES);
        noClasses()
                .that()
                .resideOutsideOfPackage("dev.isthmus.local..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("ai.djl..", "ai.onnxruntime..")
                .check(CLASSES);
        noClasses()
                .that()
                .resideOutsideOfPackage("dev.isthmus.gateway.tracing..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.opentelemetry..")
                .check(CLASSES);
    }

    @Test
    void localBackend_hasOneDoor() {
        noClasses()
                .that()
                .resideOutsideOfPackage("dev.isthmus.local..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "dev.isthmus.local.ort..",
                        "dev.isthmus.local.repository..",
                        "dev.isthmus.local.run..",
                        "dev.isthmus.local.translate..")
                .check(CLASSES);
    }

    /** A simple name is used for one type only, unless it is private. */
    @Test
    void simpleNames_standForOneType() {
        Map<String, List<String>> types = CLASSES.stream()
                .filter(type -> !type.getPackageName().startsWith("dev.isthmus.proto"))
                .filter(type -> type.isTopLevelClass() || type.isMemberClass())
                .filter(type -> !type.getModifiers().contains(JavaModifier.PRIVATE))
                .filter(type -> !type.getSimpleName().equals("package-info"))
                .collect(Collectors.groupingBy(
                        JavaClass::getSimpleName, Collectors.mapping(JavaClass::getName, Collectors.toList())));
        types.values().removeIf(names -> names.size() == 1);
        assertThat(types).isEmpty();
    }

    /** Every package is listed in docs/internals/architecture.md. */
    @Test
    void packages_areOnTheMap() throws IOException {
        String map = Files.readString(ROOT.resolve("docs/internals/architecture.md"));
        assertThat(CLASSES.stream()
                        .map(JavaClass::getPackageName)
                        .filter(name ->
                                !name.startsWith("dev.isthmus.proto") && !name.startsWith("dev.isthmus.testing")))
                .allSatisfy(name -> assertThat(map).contains("| `" + name + "` |"));
    }

    /** The folders of the modules with sources of their own, but for the benchmarks. */
    private static List<Path> modules() throws IOException {
        try (Stream<Path> folders = Files.walk(ROOT, 2)) {
            List<Path> modules = folders.filter(folder -> Files.isDirectory(folder.resolve("src/main/java")))
                    .filter(folder -> !folder.endsWith("bench") && !folder.startsWith(ROOT.resolve("examples")))
                    .toList();
            assertThat(modules).hasSizeGreaterThan(14);
            return modules;
        }
    }

    @Test
    void sourceFiles_areShort() throws IOException {
        for (Path module : modules()) {
            try (Stream<Path> files = Files.walk(module.resolve("src/main/java"))) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    assertThat(Files.readAllLines(file).size())
                            .as(file.toString())
                            .isLessThanOrEqualTo(MAX_LINES);
                }
            }
        }
    }

    @Test
    void packages_haveNoCycles() {
        slices().matching("dev.isthmus.(**)").should().beFreeOfCycles().check(CLASSES);
    }
}
