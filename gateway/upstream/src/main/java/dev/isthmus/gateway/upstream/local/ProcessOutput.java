package dev.isthmus.gateway.upstream.local;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Reader;
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

    private static final int MAX_LINE = 64 << 10;

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

    /** Reads what is printed, until its end. What native code prints may have no lines: a longer one is cut. */
    void read(Reader printed) throws IOException {
        StringBuilder line = new StringBuilder();
        char[] part = new char[8192];
        for (int length = printed.read(part); length >= 0; length = printed.read(part)) {
            for (int i = 0; i < length; i++) {
                if (part[i] == '\n') {
                    line(line.toString());
                    line.setLength(0);
                } else if (line.length() < MAX_LINE) {
                    line.append(part[i]);
                }
            }
        }
        line(line.toString());
    }

    private void line(String line) {
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
