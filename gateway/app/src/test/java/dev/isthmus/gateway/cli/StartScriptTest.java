package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The messages of the start scripts if something they need is missing. */
class StartScriptTest {
    private static final Path ROOT = Path.of(System.getProperty("isthmus.root", ".."));

    @TempDir
    Path folder = Path.of(".");

    private record Ran(int code, String text) {}

    private Ran run(Map<String, String> environment, String script, String... arguments) throws Exception {
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder("bash", ROOT.resolve(script).toString());
        builder.command().addAll(List.of(arguments));
        builder.environment().putAll(environment);
        Process process = builder.redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        return new Ran(process.exitValue(), Files.readString(output));
    }

    private Path program(String name, String text) throws IOException {
        Path file = folder.resolve("bin").resolve(name);
        Files.createDirectories(folder.resolve("bin"));
        Files.writeString(file, text);
        assertThat(file.toFile().setExecutable(true)).isTrue();
        return file;
    }

    @Test
    void anOlderJdk_isNamedWithWhatIsNeeded() throws Exception {
        program("java", "#!/bin/sh\necho Unrecognized VM option; exit 1\n");
        Files.writeString(folder.resolve("release"), "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n");
        Ran ran = run(Map.of("JAVA_HOME", folder.toString()), "gateway/app/src/main/dist/isthmus", "--version");
        assertThat(ran.code()).isEqualTo(3);
        assertThat(ran.text().lines())
                .singleElement()
                .asString()
                .startsWith("isthmus: JDK 25 is needed, ")
                .contains(" is 17.0.15");
    }

    @Test
    void noJdkAtAll_isSaid() throws Exception {
        Ran ran = run(Map.of("JAVA_HOME", "/nowhere"), "gateway/app/src/main/dist/isthmus", "--version");
        assertThat(ran)
                .isEqualTo(new Ran(
                        3, "isthmus: there is no '/nowhere/bin/java'; JDK 25 is needed: set JAVA_HOME to one\n"));
    }

    @Test
    void aCacheOfOtherJars_isNotUsed() throws Exception {
        program("java", """
                #!/bin/sh
                [ "$CLASSPATH" ] || echo no class path
                for each; do
                  case $each in
                  *.jar*) echo "the line of the process names jars: $each" ;;
                  -XX:AOTCacheOutput=*) echo >"${each#*=}" ;;
                  -XX:AOTCache=*) echo cached ;;
                  esac
                done
                """);
        Files.writeString(folder.resolve("release"), "JAVA_VERSION=\"25.0.3\"\n");
        Path lib = Files.createDirectories(folder.resolve("dist/lib"));
        Path script = Files.createDirectories(folder.resolve("dist/bin")).resolve("isthmus");
        Files.copy(ROOT.resolve("gateway/app/src/main/dist/isthmus"), script);
        Path jar = Files.writeString(lib.resolve("a.jar"), "one");
        Files.writeString(lib.resolve("b.jar"), "two");
        Map<String, String> environment = Map.of("JAVA_HOME", folder.toString());
        String other = "isthmus: " + folder.toRealPath().resolve("dist/isthmus.aot")
                + " is of other jars than lib has and is not used; 'isthmus --make-cache' makes it again\n";

        assertThat(run(environment, script.toString(), "--make-cache")).isEqualTo(new Ran(0, ""));
        assertThat(run(environment, script.toString())).isEqualTo(new Ran(0, "cached\n"));
        Files.setLastModifiedTime(jar, FileTime.fromMillis(1_000_000));
        assertThat(run(environment, script.toString())).isEqualTo(new Ran(0, other));
        assertThat(run(environment, script.toString(), "--make-cache")).isEqualTo(new Ran(0, ""));
        assertThat(run(environment, script.toString())).isEqualTo(new Ran(0, "cached\n"));
        Files.writeString(lib.resolve("c.jar"), "three");
        assertThat(run(environment, script.toString())).isEqualTo(new Ran(0, other));
    }

    @ParameterizedTest
    @CsvSource({
        "memory.max, 268435456, true",
        "memory.max, 536870912, false",
        "memory.max, max, false",
        "memory/memory.limit_in_bytes, 268435456, true",
        "memory/memory.limit_in_bytes, 9223372036854771712, false",
        "other, 268435456, false"
    })
    void aSmallContainer_getsASmallHeap(String file, String limit, boolean small) throws Exception {
        program("java", "#!/bin/sh\necho \"$@\"\n");
        Files.writeString(folder.resolve("release"), "JAVA_VERSION=\"25.0.3\"\n");
        Path groups = folder.resolve("cgroup");
        Files.createDirectories(groups.resolve(file).getParent());
        Files.writeString(groups.resolve(file), limit + "\n");
        Path script = Files.createDirectories(folder.resolve("dist/bin")).resolve("isthmus");
        Files.writeString(
                script,
                Files.readString(ROOT.resolve("gateway/app/src/main/dist/isthmus"))
                        .replace("/sys/fs/cgroup", groups.toString()));
        Ran ran = run(Map.of("JAVA_HOME", folder.toString()), script.toString(), "serve");

        assertThat(ran.text()).contains("/jvm.options ").endsWith(" serve\n");
        assertThat(ran.text().contains("/serial.options @" + folder.toRealPath() + "/dist/bin/small.options "))
                .isEqualTo(small);
    }

    @ParameterizedTest
    @CsvSource({"isthmus", "mvnw", ".mvn/jdk25"})
    void aJdkThatIsNone_isSaidBeforeAnythingIsBuilt(String script) throws Exception {
        Ran ran = run(Map.of("ISTHMUS_JAVA_HOME", "/nowhere"), script);
        assertThat(ran).isEqualTo(new Ran(3, "isthmus: ISTHMUS_JAVA_HOME is '/nowhere', which is not a JDK 25\n"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            run  | Linux  | x86_64  | 0 | ''
            test | Linux  | x86_64  | 0 | ''
            run  | Linux  | aarch64 | 0 | tested on Linux on x86-64 alone; this is Linux on aarch64
            run  | Linux  | riscv64 | 3 | serve --config FILE
            test | Darwin | arm64   | 0 | the tests need Linux on x86-64
            """)
    void anotherMachine_isToldWhatItLacks(String purpose, String system, String processor, int code, String message)
            throws Exception {
        program("uname", "#!/bin/sh\n[ \"$1\" = -s ] && echo " + system + " || echo " + processor + "\n");
        Map<String, String> environment = new HashMap<>();
        environment.put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
        Ran ran = run(environment, ".mvn/platform", purpose);
        assertThat(ran.code()).isEqualTo(code);
        if (message.isEmpty()) {
            assertThat(ran.text()).isEmpty();
        } else {
            assertThat(ran.text()).contains(message);
        }
    }
}
