package dev.isthmus.gateway.audit;

import dev.isthmus.gateway.audit.AuditLog.AuditActor.ActorKind;
import dev.isthmus.gateway.net.Labelled;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * The last changes, and a line in the process log for each. Those of callers, and what was refused, are kept apart from
 * what operators and the process have done, which they could otherwise displace. Thread-safe.
 */
public final class AuditLog {
    /** The number of entries of each sort that are kept in memory. */
    public static final int MOST = 1000;

    private static final Logger LOG = LoggerFactory.getLogger(AuditLog.class);

    private static final List<String> LOGGED =
            List.of("by", "who", "role", "issuer", "from", "action", "subject", "before", "after", "failure");

    private final InstantSource clock;
    /** What operators and the process have done, the oldest first. Guarded by this. */
    private final Deque<Entry> done = new ArrayDeque<>();
    /** What callers have done, and what was refused. Guarded by this. */
    private final Deque<Entry> others = new ArrayDeque<>();

    private long numbers;

    /** @param number increases from entry to entry */
    private record Entry(long number, Instant time, AuditActor actor, AuditedChange change) {
        Map<String, Object> document() {
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("number", number);
            document.put("time", time.toString());
            document.put("by", actor.kind().label());
            document.put("issuer", actor.issuer());
            document.put("who", actor.name());
            document.put("role", actor.role());
            document.put("from", actor.origin());
            document.put("action", change.action());
            document.put("subject", change.subject());
            document.put("before", change.before());
            document.put("after", change.after());
            document.put("done", change.failure().isEmpty());
            document.put("failure", change.failure());
            return document;
        }
    }

    public AuditLog(InstantSource clock) {
        this.clock = clock;
    }

    /** Keeps and logs a change. */
    public void record(AuditActor actor, AuditedChange change) {
        boolean succeeded = change.failure().isEmpty();
        Entry entry;
        synchronized (this) {
            Deque<Entry> entries = succeeded && actor.kind() != ActorKind.CALLER ? done : others;
            if (entries.size() == MOST) {
                entries.removeFirst();
            }
            entry = new Entry(++numbers, clock.instant(), actor, change);
            entries.addLast(entry);
        }
        Map<String, Object> said = entry.document();
        LoggingEventBuilder event = LOG.atInfo();
        for (String key : LOGGED) {
            event = event.addKeyValue(key, said.get(key));
        }
        event.log(succeeded ? "audit: {}" : "audit: not done: {}", change.action());
    }

    /**
     * The last entries of some actors, the newest first.
     *
     * @param limit how many
     * @param by whose; null for all
     * @param outcome true for what was done, false for what was refused or failed, null for both
     */
    public Map<String, Object> document(int limit, @Nullable ActorKind by, @Nullable Boolean outcome) {
        List<Entry> last;
        synchronized (this) {
            last = new ArrayList<>(done);
            last.addAll(others);
        }
        last.sort(Comparator.comparingLong(Entry::number).reversed());
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("all", last.isEmpty() ? 0 : last.getFirst().number());
        document.put(
                "entries",
                last.stream()
                        .filter(entry -> by == null || entry.actor().kind() == by)
                        .filter(entry -> outcome == null
                                || outcome == entry.change().failure().isEmpty())
                        .limit(limit)
                        .map(Entry::document)
                        .toList());
        return document;
    }

    /**
     * Who did something.
     *
     * @param kind how it is known who did it
     * @param name the name of an admin token or of a caller; empty for a caller that is not identified
     * @param role of the admin token; empty for others
     * @param issuer the provider of OpenID Connect that knows the operator by this name; empty for others
     * @param origin the address that it was asked from; of the process, what made it act
     */
    public record AuditActor(ActorKind kind, String name, String role, String issuer, String origin) {

        /** How it is known who did something. */
        public enum ActorKind implements Labelled {
            /** By the token of a request to the admin address, or the login of its session. */
            OPERATOR,
            /** By the credential of a call through a listener. */
            CALLER,
            /** The gateway did it by itself. */
            PROCESS
        }

        /** The gateway itself, because of this: "SIGHUP", "a changed file". */
        public static AuditActor process(String cause) {
            return new AuditActor(ActorKind.PROCESS, "isthmus", "", "", cause);
        }
    }

    /**
     * What was done.
     *
     * @param action in a few words: "ramp rollback", "reload"
     * @param subject what it was done to; empty for the gateway
     * @param before its state before; empty if it is not known
     * @param after its state afterwards; empty if it is not known
     * @param failure why it was refused or failed; empty if it was done
     */
    public record AuditedChange(String action, String subject, String before, String after, String failure) {
        private static final int MAX_TEXT = 500;

        public AuditedChange {
            action = cut(action);
            subject = cut(subject);
            before = cut(before);
            after = cut(after);
            failure = cut(failure);
        }

        /** A change that was made. */
        public static AuditedChange done(String action, String subject, String before, String after) {
            return new AuditedChange(action, subject, before, after, "");
        }

        /** A change that was not made. */
        public static AuditedChange refused(String action, String subject, String reason) {
            return new AuditedChange(action, subject, "", "", reason);
        }

        private static String cut(String text) {
            return text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) : text;
        }
    }
}
