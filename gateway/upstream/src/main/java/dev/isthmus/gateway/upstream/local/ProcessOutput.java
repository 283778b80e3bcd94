package dev.isthmus.gateway.upstream.local;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventBuilder;

/** Writes what the process of the local models prints into the log of the gateway. Used by one thread. */
final class ProcessOutput {
    private static final Logger LOG = LoggerFactory.getLogger("dev.isthmus.local.process");
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Begins each line of the JVM's summary of a crash, which its file has, too. */
    private static final String SUMMARY = "#";

    /** Members that each line of this process has. */
    private static final Set<String> OWN = Set.of("time", "level", "logger", "message");

    private static final TypeReference<Map<String, String>> LINE = new TypeReference<>() {};

    private final long pid;
    private final Runnable loaded;

    /** @param loaded called when the process says that its models are loaded */
    ProcessOutput(long pid, Runnable loaded) {
        this.pid = pid;
        this.loaded = loaded;
    }

    void line(String line) {
        if (line.equals(LocalProcess.LOADED)) {
            loaded.run();
        } else if (line.startsWith("{")) {
            logged(line);
        } else if (!line.isBlank() && !line.startsWith(SUMMARY)) {
            LOG.atInfo().addKeyValue("process", pid).log("{}", line);
        }
    }

    /** A line of its log, in the form of the setting {@code logging.format: json}. */
    private void logged(String line) {
        try {
            Map<String, String> members = JSON.readValue(line, LINE);
            LoggingEventBuilder event = LOG.atLevel(Level.valueOf(members.getOrDefault("level", "INFO")))
                    .addKeyValue("process", pid);
            for (Map.Entry<String, String> member : members.entrySet()) {
                if (!OWN.contains(member.getKey())) {
                    event = event.addKeyValue(member.getKey(), member.getValue());
                }
            }
            event.log("{}", members.getOrDefault("message", ""));
        } catch (JsonProcessingException | IllegalArgumentException other) {
            LOG.atInfo().addKeyValue("process", pid).log("{}", line);
        }
    }
}
