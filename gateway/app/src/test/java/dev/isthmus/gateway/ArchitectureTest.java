package dev.isthmus.gateway;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoop;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The directions of docs/explanation/architecture.md. */
class ArchitectureTest {
    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            // What modules lend to each other's tests.
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("dev.isthmus");

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

    /** A call runs on an event loop: that type is said everywhere, so that nobody has to cast an executor. */
    @Test
    void nettysChannels_stayAtTheEdges() {
        noClasses()
                .that()
                .resideInAnyPackage(
                        "dev.isthmus.oip..",
                        "dev.isthmus.transcoder..",
                        "dev.isthmus.local..",
                        "dev.isthmus.gateway.call..",
                        "dev.isthmus.gateway.dispatch..",
                        "dev.isthmus.gateway.routing..",
                        "dev.isthmus.gateway.fleet",
                        "dev.isthmus.gateway.catalogue..",
                        "dev.isthmus.gateway.metrics..",
                        "dev.isthmus.gateway.reload..",
                        "dev.isthmus.gateway.shadow..",
                        "dev.isthmus.gateway.ramp..",
                        "dev.isthmus.gateway.settings..")
                .should()
                .dependOnClassesThat(resideInAnyPackage("io.netty.channel..", "io.netty.handler..", "io.netty.bootstrap..")
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

    /** Whoever has read a name once knows what it is. */
    @Test
    void simpleNames_standForOneType() {
        Map<String, List<String>> types = CLASSES.stream()
                .filter(type -> !type.getPackageName().startsWith("dev.isthmus.proto"))
                .filter(type -> type.isTopLevelClass() || type.isMemberClass())
                .filter(type -> !type.getSimpleName().equals("package-info"))
                .collect(Collectors.groupingBy(
                        JavaClass::getSimpleName, Collectors.mapping(JavaClass::getName, Collectors.toList())));
        types.values().removeIf(names -> names.size() == 1);
        assertThat(types).isEmpty();
    }

    @Test
    void packages_haveNoCycles() {
        slices().matching("dev.isthmus.(**)").should().beFreeOfCycles().check(CLASSES);
    }
}
