package dev.isthmus.gateway.upstream.local;

import java.lang.management.ManagementFactory;
import java.util.List;

/** The options of this JVM that hold for a process of its own too. */
final class JvmOptions {
    /** Agents, ports and files that only one process can have. */
    private static final List<String> OWN = List.of(
            "-javaagent:",
            "-agentlib:",
            "-agentpath:",
            "-Xrun",
            "-XX:AOTCacheOutput",
            "-XX:AOTMode",
            "-XX:AOTConfiguration",
            "-XX:-AOTRecordTraining",
            "-XX:ErrorFile",
            "-XX:HeapDumpPath",
            "-XX:StartFlightRecording",
            "-XX:OnError",
            "-Dcom.sun.management.");

    private JvmOptions() {}

    static List<String> ofChild() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> OWN.stream().noneMatch(option::startsWith))
                .filter(option -> !option.startsWith("-Xlog") || !option.contains("file="))
                .toList();
    }
}
